package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ListsInPages gets the list in pages, whose version is the same, and waits for an event or the end of ctx.
func ListsInPages(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	options := metav1.ListOptions{Limit: 2}
	for {
		page, err := pods.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			report("LISTED", page.Items[i].GetName())
		}
		options.Continue = page.Continue
		options.ResourceVersion = ""
		if page.Continue == "" {
			options.ResourceVersion = page.ResourceVersion
			break
		}
	}
	w, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: options.ResourceVersion, AllowWatchBookmarks: true})
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-w.ResultChan():
			if !open {
				return nil
			}
			if event.Type != watch.Bookmark {
				report(string(event.Type), event.Object.(metav1.Object).GetName())
			}
		}
	}
}
