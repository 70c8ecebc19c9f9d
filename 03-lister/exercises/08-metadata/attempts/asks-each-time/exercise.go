package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

func CountByOwner(ctx context.Context, config *rest.Config, ask func(count func(owner types.UID) (int, error))) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	pods := client.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
	ask(func(owner types.UID) (int, error) {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		count := 0
		for i := range list.Items {
			if controller := metav1.GetControllerOf(&list.Items[i]); controller != nil && controller.UID == owner {
				count++
			}
		}
		return count, nil
	})
	return nil
}
