package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

func Follow(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error {
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: resourceVersion})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for ctx.Err() == nil {
		event := <-changes.ResultChan()
		if pod, ok := event.Object.(*corev1.Pod); ok {
			report(string(event.Type), pod.Name)
		}
	}
	return nil
}
