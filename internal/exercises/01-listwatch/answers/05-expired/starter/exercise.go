// Package exercise answers "List again after 410". README.md has the task.
package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Mirror reports ADDED, MODIFIED and DELETED with the names of pods, so that its caller always knows which pods there are.
func Mirror(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range list.Items {
		report("ADDED", pod.Name)
	}
	err = watchFrom(ctx, pods, list.ResourceVersion, report)
	if ctx.Err() != nil {
		return nil
	}
	// TODO: after 410, list again and report what has changed. You need to know what was reported so far, also by watchFrom.
	return err
}

// watchFrom reports events after resourceVersion until an error. It is the answer to exercise 1.4.
func watchFrom(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error {
	for {
		changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: true})
		if err != nil {
			return err
		}
		for event := range changes.ResultChan() {
			if event.Type == watch.Error {
				changes.Stop()
				return apierrors.FromObject(event.Object)
			}
			pod := event.Object.(*corev1.Pod)
			if event.Type != watch.Bookmark {
				report(string(event.Type), pod.Name)
			}
			resourceVersion = pod.ResourceVersion
		}
		changes.Stop()
	}
}
