package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

var keysOf map[string][]string

func AddIndex(pods cache.TypedIndexer[*corev1.Pod]) error {
	keysOf = map[string][]string{}
	for _, obj := range pods.List() {
		if pod := obj.(*corev1.Pod); pod.Spec.NodeName != "" {
			keysOf[pod.Spec.NodeName] = append(keysOf[pod.Spec.NodeName], pod.Namespace+"/"+pod.Name)
		}
	}
	for _, keys := range keysOf {
		slices.Sort(keys)
	}
	return nil
}

func PodsOn(pods cache.TypedIndexer[*corev1.Pod], node string) ([]string, error) {
	return keysOf[node], nil
}
