// list.go: List, page by page.
// Before: store.go. Next: watch.go.

package main

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// list reads all objects, page by page, and keeps the list's resourceVersion.
//
// All pages show the state at the time of the first one. So one resourceVersion is valid for all of them, and a watch from
// there on misses nothing.
func (w *watcher) list(ctx context.Context) error {
	start := time.Now()
	listed := store{}
	options := metav1.ListOptions{Limit: int64(w.pageSize)}
	for pages := 1; ; pages++ {
		page, err := w.listWatch.ListWithContext(ctx, options)
		if err != nil {
			return err // also 410: the server no longer has the state of the first page
		}
		err = apimeta.EachListItem(page, func(object runtime.Object) error {
			name, e, err := entryOf(object)
			listed[name] = e
			return err
		})
		if err != nil {
			return err
		}
		list, err := apimeta.ListAccessor(page)
		if err != nil {
			return err
		}
		// A page with fewer objects than the limit is not always the last one. The last one has no continue token.
		if list.GetContinue() == "" {
			return w.replace(listed, list.GetResourceVersion(), fmt.Sprintf("listed in %d page(s)", pages), start)
		}
		options.Continue = list.GetContinue()
	}
}
