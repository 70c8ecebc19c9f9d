package exercise

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// WatchesFromTheVersionOfTheLastPod takes the version of a pod for the version of the list.
func WatchesFromTheVersionOfTheLastPod(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return listAndWatch(ctx, pods, report, func(list *corev1.PodList) string { return list.Items[len(list.Items)-1].ResourceVersion })
}

// WatchesFromTheNewestVersionOfAPod forgets that a deletion has a version, too: no pod of the list has that.
func WatchesFromTheNewestVersionOfAPod(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return listAndWatch(ctx, pods, report, func(list *corev1.PodList) string {
		newest := 0
		for _, pod := range list.Items {
			version, _ := strconv.Atoi(pod.ResourceVersion)
			newest = max(newest, version)
		}
		return strconv.Itoa(newest)
	})
}

// listAndWatch is ListAndWatch with another version for the watch.
func listAndWatch(
	ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string), versionOf func(*corev1.PodList) string,
) error {
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range list.Items {
		report("LISTED", pod.Name)
	}
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: versionOf(list)})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for event := range changes.ResultChan() {
		report(string(event.Type), event.Object.(*corev1.Pod).Name)
	}
	return nil
}

// GivesUpInSilence takes a minute without an event for the end of the watch.
func GivesUpInSilence(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range list.Items {
		report("LISTED", pod.Name)
	}
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for {
		select {
		case event, open := <-changes.ResultChan():
			if !open {
				return nil
			}
			report(string(event.Type), event.Object.(*corev1.Pod).Name)
		case <-time.After(time.Minute):
			return nil
		}
	}
}

// WatchesFromTheNextVersion adds one to the version of the list: the watch sends what comes after that, so one write is lost.
func WatchesFromTheNextVersion(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	return listAndWatch(ctx, pods, report, func(list *corev1.PodList) string {
		version, _ := strconv.Atoi(list.ResourceVersion)
		return strconv.Itoa(version + 1)
	})
}

// LeavesOutNamesOfTheList takes an ADDED of a name that the list had for a repetition. It is a new pod.
func LeavesOutNamesOfTheList(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	listed := map[string]bool{}
	return ListAndWatch(ctx, pods, func(event, name string) {
		if event == "LISTED" {
			listed[name] = true
		}
		if event != "ADDED" || !listed[name] {
			report(event, name)
		}
	})
}

// ReturnsBeforeTheLastReport leaves the reports to a goroutine, and does not wait for it.
func ReturnsBeforeTheLastReport(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	events := make(chan [2]string, 100)
	defer close(events)
	go func() {
		for event := range events {
			report(event[0], event[1])
		}
	}()
	return ListAndWatch(ctx, pods, func(event, name string) { events <- [2]string{event, name} })
}

// ComparesVersionsAsTexts leaves out what the list has shown. As texts, "1002" is less than "998".
func ComparesVersionsAsTexts(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range list.Items {
		report("LISTED", pod.Name)
	}
	changes, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer changes.Stop()
	for event := range changes.ResultChan() {
		if pod := event.Object.(*corev1.Pod); pod.ResourceVersion > list.ResourceVersion {
			report(string(event.Type), pod.Name)
		}
	}
	return nil
}
