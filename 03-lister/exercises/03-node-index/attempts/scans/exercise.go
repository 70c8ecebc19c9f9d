package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func AddIndex(pods cache.TypedIndexer[*corev1.Pod]) error { return nil }

func PodsOn(pods cache.TypedIndexer[*corev1.Pod], node string) ([]string, error) {
	var keys []string
	for _, obj := range pods.List() {
		if pod := obj.(*corev1.Pod); pod.Spec.NodeName == node && node != "" {
			keys = append(keys, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
