package exercise

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
)

func PodsOf(pods corelisters.PodLister, service *corev1.Service) ([]string, error) {
	found, err := pods.Pods(service.Namespace).List(labels.Everything())
	var names []string
	for _, pod := range found {
		if maps.Equal(pod.Labels, service.Spec.Selector) {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names, err
}
