// Package exercise answers "And, or". README.md has the task.
package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// And returns the keys of the pods on the node that have a container with the image, sorted.
func And(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error) {
	onNode, err := pods.ByTypedIndex("node", node)
	if err != nil {
		return nil, err
	}
	// One read. The objects that it found do not change, so both terms are asked of the same state of the pod.
	var keys []string
	for _, pod := range onNode {
		if slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Image == image }) {
			keys = append(keys, cache.MetaObjectToName(pod).String())
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// Or returns the keys of the pods that are on the node or have a container with the image, sorted.
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
	return slices.Compact(keys), nil // a pod that both lookups found is there once
}
