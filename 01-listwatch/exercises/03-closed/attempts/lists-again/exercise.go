package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

func Follow(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error {
	for ctx.Err() == nil {
		changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: resourceVersion})
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		for event := range changes.ResultChan() {
			if event.Type == watch.Error {
				break
			}
			report(string(event.Type), event.Object.(*corev1.Pod).Name)
		}
		changes.Stop()
		list, err := pods.List(ctx, metav1.ListOptions{})
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		resourceVersion = list.ResourceVersion
	}
	return nil
}
