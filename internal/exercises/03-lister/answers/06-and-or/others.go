package exercise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

type indexer = cache.TypedIndexer[*corev1.Pod]

// FindByImageFirst finds the pods with the image, and looks at the node of each.
func FindByImageFirst(pods indexer, node, image string) ([]string, error) {
	found, err := pods.ByIndex("image", image)
	keys := sets.New[string]()
	for _, obj := range found {
		if pod := obj.(*corev1.Pod); pod.Spec.NodeName == node {
			keys.Insert(keyOf(pod))
		}
	}
	return sets.List(keys), err
}

// JoinASet joins what the indexes find in a set of keys.
func JoinASet(pods indexer, node, image string) ([]string, error) {
	keys := sets.New[string]()
	for index, value := range map[string]string{"node": node, "image": image} {
		found, err := pods.ByTypedIndex(index, value)
		if err != nil {
			return nil, err
		}
		for _, pod := range found {
			keys.Insert(keyOf(pod))
		}
	}
	return sets.List(keys), nil
}

func keyOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
