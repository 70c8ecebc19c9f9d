package exercise

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

func PodNames(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error) {
	w, err := pods.Watch(ctx, metav1.ListOptions{
		SendInitialEvents:    new(true),
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
	})
	if err != nil {
		return nil, "", err
	}
	defer w.Stop()
	for {
		select {
		case event := <-w.ResultChan():
			switch event.Type {
			case watch.Added, watch.Bookmark:
				pod := event.Object.(*corev1.Pod)
				if event.Type == watch.Added {
					names = append(names, pod.Name)
				}
				resourceVersion = pod.ResourceVersion
			case watch.Error:
				return nil, "", apierrors.FromObject(event.Object)
			}
		case <-time.After(100 * time.Millisecond):
			return names, resourceVersion, nil
		}
	}
}
