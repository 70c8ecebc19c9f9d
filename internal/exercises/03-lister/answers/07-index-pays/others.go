package exercise

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

type indexer = cache.TypedIndexer[*corev1.Pod]

// IndexAllLabels adds an index of all labels of the pods of each node.
func IndexAllLabels(pods indexer) error {
	return pods.AddIndexers(cache.Indexers{"labels on a node": func(obj any) (values []string, err error) {
		pod := obj.(*corev1.Pod)
		if pod.Spec.NodeName == "" {
			return nil, nil
		}
		for key, value := range pod.Labels {
			values = append(values, pod.Spec.NodeName+","+key+"="+value)
		}
		return values, nil
	}})
}

// FindByLabel finds objects by that index, and sorts their keys.
func FindByLabel(pods indexer, node, app string) ([]string, error) {
	found, err := pods.ByTypedIndex("labels on a node", node+",app="+app)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(found))
	for i, pod := range found {
		keys[i] = pod.Namespace + "/" + pod.Name
	}
	slices.Sort(keys)
	return keys, nil
}
