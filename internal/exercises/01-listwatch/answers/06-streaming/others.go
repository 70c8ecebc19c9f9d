package exercise

import (
	"context"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// LooksAtTheObjects asks what the objects are, and not what the events are.
func LooksAtTheObjects(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error) {
	initial := true
	w, err := pods.Watch(ctx, metav1.ListOptions{
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents:    &initial,
		AllowWatchBookmarks:  true,
	})
	if err != nil {
		return nil, "", err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		object, ok := event.Object.(metav1.Object)
		if !ok {
			return nil, "", apierrors.FromObject(event.Object)
		}
		_, last := object.GetAnnotations()[metav1.InitialEventsAnnotationKey]
		switch {
		case object.GetName() != "":
			names = append(names, object.GetName())
		case last: // a bookmark's object has no name
			return names, object.GetResourceVersion(), nil
		}
	}
	return nil, "", io.ErrUnexpectedEOF
}
