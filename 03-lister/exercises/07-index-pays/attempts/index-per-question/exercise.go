package exercise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func AddIndex(pods cache.TypedIndexer[*corev1.Pod]) error { return nil }

func Find(pods cache.TypedIndexer[*corev1.Pod], node, app string) ([]string, error) {
	index := node + "/" + app
	if _, exists := pods.GetIndexers()[index]; !exists {
		err := pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{index: func(pod *corev1.Pod) ([]string, error) {
			if pod.Spec.NodeName == node && pod.Labels["app"] == app {
				return []string{"yes"}, nil
			}
			return nil, nil
		}})
		if err != nil {
			return nil, err
		}
	}
	return pods.IndexKeys(index, "yes")
}
