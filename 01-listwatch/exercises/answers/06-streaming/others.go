package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	watchtools "k8s.io/client-go/tools/watch"
)

// EndsItsWatchByAContext ends its watch by a context of its own, and leaves the loop to client-go.
func EndsItsWatchByAContext(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	initial := true
	w, err := pods.Watch(ctx, metav1.ListOptions{
		ResourceVersion:      "0", // any state: from the server's cache
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents:    &initial,
		AllowWatchBookmarks:  true,
	})
	if err != nil {
		return nil, "", err
	}
	last, err := watchtools.UntilWithoutRetry(ctx, w, func(event watch.Event) (done bool, err error) {
		object, ok := event.Object.(metav1.Object)
		if ok && event.Type == watch.Added {
			names = append(names, object.GetName())
		}
		return ok && event.Type == watch.Bookmark && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "", nil
	})
	if err != nil {
		return nil, "", err
	}
	return names, last.Object.(metav1.Object).GetResourceVersion(), nil
}
