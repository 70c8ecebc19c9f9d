// Package exercise answers "Watch from where the list ended". README.md has the task.
package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ListAndWatch reports all pods, and then each change, until the server ends the watch.
func ListAndWatch(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range list.Items {
		report("LISTED", pod.Name)
	}
	// The version of the list, not of a pod in it: it says up to which write of the whole cluster the list is complete.
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer changes.Stop() // closes the connection's stream, whatever ends this function
	for event := range changes.ResultChan() {
		report(string(event.Type), event.Object.(*corev1.Pod).Name)
	}
	return nil // the channel was closed
}
