package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// UsesARetryWatcher leaves it to client-go's RetryWatcher, which opens the watches. It waits a second before it opens the next one.
func UsesARetryWatcher(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error {
	changes, err := watchtools.NewRetryWatcherWithContext(ctx, resourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, options)
		},
	})
	if err != nil {
		return err
	}
	for event := range changes.ResultChan() {
		report(string(event.Type), event.Object.(metav1.Object).GetName())
	}
	<-changes.Done()
	return nil
}
