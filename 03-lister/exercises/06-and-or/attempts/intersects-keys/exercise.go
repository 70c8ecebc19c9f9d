package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func And(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error) {
	onNode, err := pods.IndexKeys("node", node)
	if err != nil {
		return nil, err
	}
	withImage, err := pods.IndexKeys("image", image)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(onNode, func(key string) bool { return !slices.Contains(withImage, key) }), nil
}

func Or(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error) {
	onNode, err := pods.IndexKeys("node", node)
	if err != nil {
		return nil, err
	}
	withImage, err := pods.IndexKeys("image", image)
	if err != nil {
		return nil, err
	}
	keys := slices.Concat(onNode, withImage)
	slices.Sort(keys)
	return slices.Compact(keys), nil
}
