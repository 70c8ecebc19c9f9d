package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ListsInPages gets the list in pages, whose version is the same, and reads from the channel until it is closed.
func ListsInPages(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	version := ""
	for token, more := "", true; more; {
		page, err := pods.List(ctx, metav1.ListOptions{Limit: 2, Continue: token})
		if err != nil {
			return err
		}
		for i := range page.Items {
			report("LISTED", page.Items[i].GetName())
		}
		version, token, more = page.ResourceVersion, page.Continue, page.Continue != ""
	}
	w, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		event, open := <-w.ResultChan()
		if !open {
			return nil
		}
		report(string(event.Type), event.Object.(metav1.Object).GetName())
	}
}
