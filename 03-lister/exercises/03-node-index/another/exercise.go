package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func AddIndex(pods cache.TypedIndexer[*corev1.Pod]) error {
	return pods.AddIndexers(cache.Indexers{"spec.nodeName": func(obj any) ([]string, error) {
		nodes := []string{}
		if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			nodes = append(nodes, pod.Spec.NodeName)
		}
		return nodes, nil
	}})
}

func PodsOn(pods cache.TypedIndexer[*corev1.Pod], node string) ([]string, error) {
	found, err := pods.ByTypedIndex("spec.nodeName", node)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, pod := range found {
		keys = append(keys, cache.MetaObjectToName(pod).String())
	}
	slices.Sort(keys)
	return keys, nil
}
