package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

type pair struct{ node, app string }

var keysOf map[pair][]string

func AddIndex(pods cache.TypedIndexer[*corev1.Pod]) error {
	keysOf = map[pair][]string{}
	for _, obj := range pods.List() {
		pod := obj.(*corev1.Pod)
		p := pair{pod.Spec.NodeName, pod.Labels["app"]}
		keysOf[p] = append(keysOf[p], pod.Namespace+"/"+pod.Name)
	}
	return nil
}

func Find(pods cache.TypedIndexer[*corev1.Pod], node, app string) ([]string, error) {
	return slices.Sorted(slices.Values(keysOf[pair{node, app}])), nil
}
