package exercise

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

type indexer = cache.TypedIndexer[*corev1.Pod]

// Answer is the two functions of exercise.go.
type Answer struct {
	And, Or func(pods indexer, node, image string) ([]string, error)
}

// AsksTheIndexFunctions finds by one index, and asks the index function of the other.
var AsksTheIndexFunctions = Answer{
	And: func(pods indexer, node, image string) ([]string, error) {
		found, err := pods.ByIndex("image", image)
		keys := map[string]bool{}
		for _, obj := range found {
			values, err := pods.GetIndexers()["node"](obj)
			if err != nil {
				return nil, err
			}
			if slices.Contains(values, node) {
				keys[keyOf(obj.(*corev1.Pod))] = true
			}
		}
		return slices.Sorted(maps.Keys(keys)), err
	},
	Or: func(pods indexer, node, image string) ([]string, error) {
		keys := map[string]bool{}
		for index, value := range map[string]string{"node": node, "image": image} {
			found, err := pods.ByTypedIndex(index, value)
			if err != nil {
				return nil, err
			}
			for _, pod := range found {
				keys[keyOf(pod)] = true
			}
		}
		return slices.Sorted(maps.Keys(keys)), nil
	},
}

func keyOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
