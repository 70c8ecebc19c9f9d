package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func find(pods cache.TypedIndexer[*corev1.Pod], matches func(*corev1.Pod) bool) ([]string, error) {
	var keys []string
	for _, obj := range pods.List() {
		if pod := obj.(*corev1.Pod); matches(pod) {
			keys = append(keys, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

func has(pod *corev1.Pod, image string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Image == image })
}

func And(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error) {
	return find(pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node && has(pod, image) })
}

func Or(pods cache.TypedIndexer[*corev1.Pod], node, image string) ([]string, error) {
	return find(pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node || has(pod, image) })
}
