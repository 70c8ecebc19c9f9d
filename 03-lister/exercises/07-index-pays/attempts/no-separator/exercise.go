package exercise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func AddIndex(pods cache.TypedIndexer[*corev1.Pod]) error {
	return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{"both": func(pod *corev1.Pod) ([]string, error) {
		return []string{pod.Spec.NodeName + pod.Labels["app"]}, nil
	}})
}

func Find(pods cache.TypedIndexer[*corev1.Pod], node, app string) ([]string, error) {
	return pods.IndexKeys("both", node+app)
}
