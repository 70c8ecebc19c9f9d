package exercise

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func AddIndex(pods cache.TypedIndexer[*corev1.Pod]) error {
	return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{"node": func(pod *corev1.Pod) ([]string, error) {
		if pod.Spec.NodeName == "" {
			return nil, fmt.Errorf("pod %s has no node", pod.Name)
		}
		return []string{pod.Spec.NodeName}, nil
	}})
}

func PodsOn(pods cache.TypedIndexer[*corev1.Pod], node string) ([]string, error) {
	return pods.IndexKeys("node", node)
}
