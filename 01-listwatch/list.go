package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// list reads all objects, page by page, and remembers the version they were read at.
//
// All pages show the world as it was when the first was read, so one resourceVersion stands for them all,
// and a watch from there on misses nothing.
func (w *watcher) list(ctx context.Context) error {
	start := time.Now()
	listed := world{}
	options := metav1.ListOptions{Limit: int64(w.pageSize)}
	for pages := 1; ; pages++ {
		page, err := w.listWatch.ListWithContext(ctx, options)
		if err != nil {
			return err // 410 too: the server has forgotten the snapshot before we had read all its pages
		}
		err = meta.EachListItem(page, func(object runtime.Object) error {
			name, s, err := look(object)
			listed[name] = s
			return err
		})
		if err != nil {
			return err
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return err
		}
		// A page may be shorter than asked for and still not be the last. Only an empty token says so.
		if list.GetContinue() == "" {
			w.replace(listed, list.GetResourceVersion(), fmt.Sprintf("listed in %d page(s)", pages), start)
			return nil
		}
		options.Continue = list.GetContinue()
	}
}
