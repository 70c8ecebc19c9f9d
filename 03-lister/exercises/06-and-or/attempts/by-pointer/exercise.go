package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func And(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error) {
	onNode, err := pods.ByTypedIndex("node", node)
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, pod := range onNode {
		if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Image == image }) {
			keys = append(keys, cache.MetaObjectToName(pod).String())
		}
	}
	slices.Sort(keys)
	return keys, nil
}

func Or(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error) {
	onNode, err := pods.ByTypedIndex("node", node)
	if err != nil {
		return nil, err
	}
	withImage, err := pods.ByTypedIndex("image", image)
	if err != nil {
		return nil, err
	}
	set := map[*corev1.Pod]bool{}
	for _, pod := range append(onNode, withImage...) {
		set[pod] = true
	}
	var keys []string
	for pod := range set {
		keys = append(keys, pod.Namespace+"/"+pod.Name)
	}
	slices.Sort(keys)
	return keys, nil
}
