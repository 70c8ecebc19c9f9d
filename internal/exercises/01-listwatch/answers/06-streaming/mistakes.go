package exercise

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// options ask for a list that streams.
func options() metav1.ListOptions {
	return metav1.ListOptions{
		SendInitialEvents:    new(true),
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
	}
}

// collect reads the pods up to the bookmark that ends them.
func collect(w watch.Interface) (names []string, resourceVersion string, err error) {
	for event := range w.ResultChan() {
		switch event.Type {
		case watch.Added:
			names = append(names, event.Object.(*corev1.Pod).Name)
		case watch.Bookmark:
			pod := event.Object.(*corev1.Pod)
			if pod.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
				return names, pod.ResourceVersion, nil
			}
		case watch.Error:
			return nil, "", apierrors.FromObject(event.Object)
		}
	}
	return nil, "", errors.New("the watch has ended before the initial events have")
}

// SendsAList sends a List, and needs the memory that the task is about.
func SendsAList(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error) {
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, "", err
	}
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	return names, list.ResourceVersion, nil
}

// TakesSilenceForTheEnd returns when no pod has come for a while.
func TakesSilenceForTheEnd(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error) {
	w, err := pods.Watch(ctx, options())
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

// LimitsTheTime gives up after half an hour, also if the pods still arrive.
func LimitsTheTime(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	return PodNames(ctx, pods)
}

// ReturnsTheVersionOfAPod returns the version of the last pod, not of the bookmark.
func ReturnsTheVersionOfAPod(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error) {
	w, err := pods.Watch(ctx, options())
	if err != nil {
		return nil, "", err
	}
	defer w.Stop()
	last := ""
	names, _, err = collect(watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		if event.Type == watch.Added {
			last = event.Object.(*corev1.Pod).ResourceVersion
		}
		return event, true
	}))
	return names, last, err
}

// LeavesTheWatchOpen does not stop its watch.
func LeavesTheWatchOpen(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error) {
	w, err := pods.Watch(ctx, options())
	if err != nil {
		return nil, "", err
	}
	return collect(w)
}

// OpensTheNextWatch does after any error what exercise 1.3 asks for, without end.
func OpensTheNextWatch(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error) {
	for ctx.Err() == nil {
		if names, resourceVersion, err = PodNames(ctx, pods); err == nil {
			break
		}
	}
	return names, resourceVersion, err
}

// GoesByTheLastBookmark takes a watch that ends after any bookmark for a whole list.
func GoesByTheLastBookmark(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error) {
	w, err := pods.Watch(ctx, options())
	if err != nil {
		return nil, "", err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		switch event.Type {
		case watch.Added:
			names = append(names, event.Object.(*corev1.Pod).Name)
		case watch.Bookmark:
			pod := event.Object.(*corev1.Pod)
			resourceVersion = pod.ResourceVersion
			if pod.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
				return names, resourceVersion, nil
			}
		case watch.Error:
			return nil, "", apierrors.FromObject(event.Object)
		}
	}
	if resourceVersion == "" {
		return nil, "", errors.New("the watch has ended before the initial events have")
	}
	return names, resourceVersion, nil
}
