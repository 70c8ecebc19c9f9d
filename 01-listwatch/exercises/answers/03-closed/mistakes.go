package exercise

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// BeginsAgainEachTime begins each watch at the first version, and reports changes again.
func BeginsAgainEachTime(
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
	}
}

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
