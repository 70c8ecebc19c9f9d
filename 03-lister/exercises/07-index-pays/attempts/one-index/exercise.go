package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func AddIndex(pods cache.TypedIndexer[*corev1.Pod]) error {
	return pods.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{"node": func(pod *corev1.Pod) ([]string, error) {
		if pod.Spec.NodeName == "" {
			return nil, nil
		}
		return []string{pod.Spec.NodeName}, nil
	}})
}

func Find(pods cache.TypedIndexer[*corev1.Pod], node, app string) ([]string, error) {
	found, err := pods.ByTypedIndex("node", node)
	var keys []string
	for _, pod := range found {
		if pod.Labels["app"] == app {
			keys = append(keys, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(keys)
	return keys, err
}
