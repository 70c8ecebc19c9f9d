package exercise

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

func Follow(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error {
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: resourceVersion})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-changes.ResultChan():
			if !open {
				return errors.New("the watch was closed")
			}
			if event.Type == watch.Error {
				break
			}
			report(string(event.Type), event.Object.(*corev1.Pod).Name)
		}
	}
}
