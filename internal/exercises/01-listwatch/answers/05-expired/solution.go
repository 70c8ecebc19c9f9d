// Package exercise answers "List again after 410". README.md has the task.
package exercise

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Mirror reports ADDED, MODIFIED and DELETED with the names of pods, so that its caller always knows which pods there are.
func Mirror(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	k := known{}
	for {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err == nil {
			k.replace(list.Items, report)
			err = k.watchFrom(ctx, pods, list.ResourceVersion, report)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case apierrors.IsResourceExpired(err):
			// This version will never work again. A real program waits a moment here: all its copies list now.
		default:
			return err
		}
	}
}

// known has the pods that were reported, by name. Without it, nobody could know which pods a new list does not have any more.
type known map[string]*corev1.Pod

// replace reports how the list differs from what is known, and makes it known.
func (k known) replace(list []corev1.Pod, report func(event, name string)) {
	listed := known{}
	for _, pod := range list {
		listed[pod.Name] = &pod
	}
	for name, old := range k {
		if pod := listed[name]; pod == nil || pod.UID != old.UID {
			report("DELETED", name)
		}
	}
	for _, pod := range list {
		switch old := k[pod.Name]; {
		case old == nil || old.UID != pod.UID:
			report("ADDED", pod.Name)
		case old.ResourceVersion != pod.ResourceVersion:
			report("MODIFIED", pod.Name)
		}
	}
	clear(k)
	maps.Copy(k, listed)
}

// watchFrom reports events after resourceVersion until an error.
func (k known) watchFrom(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
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
			resourceVersion = pod.ResourceVersion
			switch event.Type {
			case watch.Bookmark:
				continue
			case watch.Deleted:
				delete(k, pod.Name)
			default:
				k[pod.Name] = pod
			}
			report(string(event.Type), pod.Name)
		}
		changes.Stop()
	}
}
