package exercise

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	watchtools "k8s.io/client-go/tools/watch"
)

// UsesARetryWatcher leaves it to client-go's RetryWatcher, which opens the watches. It waits a second before it opens the next one.
func UsesARetryWatcher(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error {
	changes, err := watchtools.NewRetryWatcherWithContext(ctx, resourceVersion, watcher{pods})
	if err == nil { // it refuses the versions "" and "0"
		for event := range changes.ResultChan() {
			if event.Type == watch.Error {
				err = apierrors.FromObject(event.Object) // the last event: the RetryWatcher does not try again
				continue
			}
			report(string(event.Type), event.Object.(metav1.Object).GetName())
		}
	}
	return err
}

// watcher opens watches of pods.
type watcher struct{ typedcorev1.PodInterface }

func (w watcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.Watch(ctx, options)
}
