package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// HasOneLoop has all in one loop, with a case for each type of event.
func HasOneLoop(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error {
	options := metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: true}
	changes, err := pods.Watch(ctx, options)
	if err != nil {
		return err
	}
	defer func() { changes.Stop() }()
	for {
		event, open := <-changes.ResultChan()
		switch event.Type {
		case watch.Bookmark:
			options.ResourceVersion = event.Object.(metav1.Object).GetResourceVersion()
		case watch.Added, watch.Modified, watch.Deleted:
			pod := event.Object.(*corev1.Pod)
			options.ResourceVersion = pod.ResourceVersion
			report(string(event.Type), pod.Name)
		case watch.Error:
			if ctx.Err() != nil {
				return nil
			}
			return apierrors.FromObject(event.Object)
		}
		if open {
			continue
		}
		next, err := pods.Watch(ctx, options)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		changes = next
	}
}
