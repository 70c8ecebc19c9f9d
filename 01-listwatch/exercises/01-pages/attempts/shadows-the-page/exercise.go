package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

func PodNames(ctx context.Context, pods typedcorev1.PodInterface, pageSize int64) ([]string, error) {
	var names []string
	options := metav1.ListOptions{Limit: pageSize}
	page, err := pods.List(ctx, options)
	if err != nil {
		return nil, err
	}
	for _, pod := range page.Items {
		names = append(names, pod.Name)
	}
	for page.Continue != "" {
		options.Continue = page.Continue
		page, err := pods.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, pod := range page.Items {
			names = append(names, pod.Name)
		}
	}
	return names, nil
}
