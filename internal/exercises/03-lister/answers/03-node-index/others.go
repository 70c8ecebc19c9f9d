package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

type indexer = cache.TypedIndexer[*corev1.Pod]

// AddUntypedIndex adds an untyped index.
func AddUntypedIndex(pods indexer) error {
	return pods.AddIndexers(cache.Indexers{"spec.nodeName": func(obj any) ([]string, error) {
		nodes := []string{}
		if node := obj.(*corev1.Pod).Spec.NodeName; node != "" {
			nodes = append(nodes, node)
		}
		return nodes, nil
	}})
}

// SortKeysOfObjects sorts the keys of the objects that this index finds.
func SortKeysOfObjects(pods indexer, node string) ([]string, error) {
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
