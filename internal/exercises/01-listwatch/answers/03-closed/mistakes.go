package exercise

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ListsAgainAndMissesTheGap lists for the version of the next watch, and never reports what happened before that.
func ListsAgainAndMissesTheGap(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	for {
		_, err := watchOnce(ctx, pods, resourceVersion, report)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		list, err := pods.List(ctx, metav1.ListOptions{})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		resourceVersion = list.ResourceVersion
	}
}

// EndsWithTheFirstWatch takes the closed channel for an error.
func EndsWithTheFirstWatch(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: resourceVersion})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-changes.ResultChan():
			if !open {
				return errors.New("the watch was closed")
			}
			report(string(event.Type), event.Object.(*corev1.Pod).Name)
		}
	}
}

// SpinsOnTheClosedChannel does not notice that the channel is closed, and reads empty events without end.
func SpinsOnTheClosedChannel(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: resourceVersion})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for ctx.Err() == nil {
		event := <-changes.ResultChan()
		if pod, ok := event.Object.(*corev1.Pod); ok {
			report(string(event.Type), pod.Name)
		}
	}
	return nil
}

// TakesNoVersionOfADeletion keeps the versions of pods that exist only: after a close, the deletion comes again.
func TakesNoVersionOfADeletion(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	for {
		changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: resourceVersion})
		if err == nil {
			for event := range changes.ResultChan() {
				if event.Type == watch.Error {
					err = apierrors.FromObject(event.Object)
					break
				}
				pod := event.Object.(*corev1.Pod)
				report(string(event.Type), pod.Name)
				if event.Type != watch.Deleted {
					resourceVersion = pod.ResourceVersion
				}
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

// ReturnsBeforeTheLastReport leaves the reports to a goroutine, and does not wait for it.
func ReturnsBeforeTheLastReport(
	ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string),
) error {
	events := make(chan [2]string, 100)
	defer close(events)
	go func() {
		for event := range events {
			report(event[0], event[1])
		}
	}()
	return Follow(ctx, pods, resourceVersion, func(event, name string) { events <- [2]string{event, name} })
}
