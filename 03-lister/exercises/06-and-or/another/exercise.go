package exercise

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func And(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error) {
	found, err := pods.ByIndex("image", image)
	keys := map[string]bool{}
	for _, obj := range found {
		values, err := pods.GetIndexers()["node"](obj)
		if err != nil {
			return nil, err
		}
		if slices.Contains(values, node) {
			keys[key(obj.(*corev1.Pod))] = true
		}
	}
	return slices.Sorted(maps.Keys(keys)), err
}

func Or(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error) {
	keys := map[string]bool{}
	for index, value := range map[string]string{"node": node, "image": image} {
		found, err := pods.ByTypedIndex(index, value)
		if err != nil {
			return nil, err
		}
		for _, pod := range found {
			keys[key(pod)] = true
		}
	}
	return slices.Sorted(maps.Keys(keys)), nil
}

func key(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
