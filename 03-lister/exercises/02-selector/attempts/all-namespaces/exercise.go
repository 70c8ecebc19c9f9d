package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
)

func PodsOf(pods corelisters.PodLister, service *corev1.Service) ([]string, error) {
	if len(service.Spec.Selector) == 0 {
		return nil, nil
	}
	found, err := pods.List(labels.SelectorFromSet(service.Spec.Selector))
	var names []string
	for _, pod := range found {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names, err
}
