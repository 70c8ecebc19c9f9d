package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// ComparesTheLabelsItself lists all pods, and compares the labels itself.
func ComparesTheLabelsItself(pods corelisters.PodLister, service *corev1.Service) ([]string, error) {
	found, err := pods.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, pod := range found {
		if pod.Namespace == service.Namespace && belongs(pod, service) {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func belongs(pod *corev1.Pod, service *corev1.Service) bool {
	for key, value := range service.Spec.Selector {
		if got, has := pod.Labels[key]; !has || got != value {
			return false
		}
	}
	return len(service.Spec.Selector) > 0
}
