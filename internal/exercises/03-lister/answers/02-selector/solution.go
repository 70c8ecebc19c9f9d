// Package exercise answers "The pods of a Service". README.md has the task.
package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// PodsOf returns the names of the Service's pods, sorted.
func PodsOf(pods corelisters.PodLister, service *corev1.Service) ([]string, error) {
	if len(service.Spec.Selector) == 0 {
		return nil, nil // SelectorFromSet would match every pod
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	// The index by namespace finds the pods of one namespace. The selector is a check of each of them.
	found, err := pods.Pods(service.Namespace).List(selector)
	var names []string
	for _, pod := range found {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names, err
}
