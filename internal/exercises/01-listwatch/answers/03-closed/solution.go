// Package exercise answers "Go on when the watch ends". README.md has the task.
package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Follow reports each change of a pod after resourceVersion: ADDED, MODIFIED or DELETED, and the pod's name.
func Follow(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error {
	for {
		var err error
		resourceVersion, err = watchOnce(ctx, pods, resourceVersion, report)
		if ctx.Err() != nil {
			return nil // also if err is not nil: the end of ctx ends each request with an error
		}
		if err != nil {
			return err
		}
	}
}

// watchOnce returns the version up to which it has reported all changes. So it can use defer: in the loop above, that would
// keep all watches until the end.
func watchOnce(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) (string, error) {
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: resourceVersion})
	if err != nil {
		return resourceVersion, err
	}
	defer changes.Stop()
	for event := range changes.ResultChan() {
		if event.Type == watch.Error {
			return resourceVersion, apierrors.FromObject(event.Object)
		}
		pod := event.Object.(*corev1.Pod)
		report(string(event.Type), pod.Name)
		resourceVersion = pod.ResourceVersion // where the next watch begins
	}
	return resourceVersion, nil
}
