package exercise

import (
	"context"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// DoesNotAskForBookmarks handles bookmarks that the server never sends.
func DoesNotAskForBookmarks(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	options := metav1.ListOptions{ResourceVersion: resourceVersion}
	return follow(ctx, pods, &options, func(event watch.EventType, pod *corev1.Pod) {
		if event != watch.Bookmark {
			report(string(event), pod.Name)
		}
		options.ResourceVersion = pod.ResourceVersion
	})
}

// AsksForBookmarksOnce asks in the first watch only.
func AsksForBookmarksOnce(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	options := metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: true}
	return follow(ctx, pods, &options, func(event watch.EventType, pod *corev1.Pod) {
		if event != watch.Bookmark {
			report(string(event), pod.Name)
		}
		options = metav1.ListOptions{ResourceVersion: pod.ResourceVersion}
	})
}

// IgnoresTheVersionOfABookmark leaves bookmarks out, with the version that they bring.
func IgnoresTheVersionOfABookmark(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	options := metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: true}
	return follow(ctx, pods, &options, func(event watch.EventType, pod *corev1.Pod) {
		if event != watch.Bookmark {
			report(string(event), pod.Name)
			options.ResourceVersion = pod.ResourceVersion
		}
	})
}

// ReportsBookmarks takes a bookmark for a change of a pod.
func ReportsBookmarks(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error {
	options := metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: true}
	return follow(ctx, pods, &options, func(event watch.EventType, pod *corev1.Pod) {
		report(string(event), pod.Name)
		options.ResourceVersion = pod.ResourceVersion
	})
}

// TakesVersionsOfBookmarksOnly does not keep the versions of events: those since the last bookmark come again.
func TakesVersionsOfBookmarksOnly(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	options := metav1.ListOptions{ResourceVersion: resourceVersion, AllowWatchBookmarks: true}
	return follow(ctx, pods, &options, func(event watch.EventType, pod *corev1.Pod) {
		if event != watch.Bookmark {
			report(string(event), pod.Name)
			return
		}
		options.ResourceVersion = pod.ResourceVersion
	})
}

// latest is the version of the last bookmark. A second Follow gets it, too.
var latest atomic.Value

// KeepsABookmarkForAll has the last bookmark in a variable of the package: a second Follow begins at the first one's.
func KeepsABookmarkForAll(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	for {
		happened := false
		next, err := watchOnce(ctx, bookmarks{pods}, resourceVersion, func(event, name string) {
			happened = true
			report(event, name)
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		resourceVersion = next
		if version, ok := latest.Load().(string); ok && !happened {
			resourceVersion = version
		}
	}
}

// bookmarks keeps the versions of bookmarks.
type bookmarks struct{ typedcorev1.PodInterface }

func (b bookmarks) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := b.PodInterface.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		if event.Type == watch.Bookmark {
			latest.Store(event.Object.(*corev1.Pod).ResourceVersion)
		}
		return event, true
	}), nil
}

// follow is Follow without what the mistakes differ in: handle gets each event, and sets the options of the next watch.
func follow(
	ctx context.Context, pods typedcorev1.PodInterface, options *metav1.ListOptions, handle func(watch.EventType, *corev1.Pod),
) error {
	for {
		changes, err := pods.Watch(ctx, *options)
		if err == nil {
			for event := range changes.ResultChan() {
				if event.Type == watch.Error {
					err = apierrors.FromObject(event.Object)
					break
				}
				handle(event.Type, event.Object.(*corev1.Pod))
			}
			changes.Stop()
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
