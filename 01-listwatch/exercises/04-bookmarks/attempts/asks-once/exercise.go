package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

func Follow(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error {
	options := metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: true}
	for {
		changes, err := pods.Watch(ctx, options)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for event := range changes.ResultChan() {
			if event.Type == watch.Error {
				err = apierrors.FromObject(event.Object)
				break
			}
			pod := event.Object.(*corev1.Pod)
			if event.Type != watch.Bookmark {
				report(string(event.Type), pod.Name)
			}
			options = metav1.ListOptions{ResourceVersion: pod.ResourceVersion}
		}
		changes.Stop()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
