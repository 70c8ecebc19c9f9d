package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

type indexer = cache.TypedIndexer[*corev1.Pod]

// Answer is the two functions of exercise.go.
type Answer struct {
	AddIndex func(pods indexer) error
	PodsOn   func(pods indexer, node string) ([]string, error)
}

// AddsAnUntypedIndex adds an untyped index, and sorts the keys of the objects that it finds.
var AddsAnUntypedIndex = Answer{
	AddIndex: func(pods indexer) error {
		return pods.AddIndexers(cache.Indexers{"spec.nodeName": func(obj any) ([]string, error) {
			nodes := []string{}
			if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
				nodes = append(nodes, pod.Spec.NodeName)
			}
			return nodes, nil
		}})
	},
	PodsOn: func(pods indexer, node string) ([]string, error) {
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
	},
}
