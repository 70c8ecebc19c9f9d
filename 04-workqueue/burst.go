// burst.go: many updates of one pod, which the queue merges into few syncs.
// Before: faults.go. Next: informer.go.

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
)

// burst updates one pod many times, as fast as the server takes it, and counts the pod's syncs.
type burst struct {
	key     cache.ObjectName
	updates int
	indexer cache.Indexer
	out     *program.Printer

	mu                     sync.Mutex
	syncs                  int
	running, maxConcurrent int    // syncs that run now, and the most that ran at once
	synced                 string // the pod's resourceVersion at the newest sync
}

// wrap returns syncHandler with the pod's syncs counted.
func (b *burst) wrap(syncHandler syncFunc) syncFunc {
	return func(ctx context.Context, key cache.ObjectName) error {
		if key != b.key {
			return syncHandler(ctx, key)
		}
		b.mu.Lock()
		b.syncs++
		b.running++
		b.maxConcurrent = max(b.maxConcurrent, b.running)
		b.mu.Unlock()
		before := b.resourceVersion()
		err := syncHandler(ctx, key) // reads that state of the pod, or a newer one
		b.mu.Lock()
		defer b.mu.Unlock()
		b.running--
		b.synced = before
		return err
	}
}

// resourceVersion returns the resourceVersion of the pod in the store, or "" if there is none.
func (b *burst) resourceVersion() string {
	object, exists, err := b.indexer.GetByKey(b.key.String())
	if err != nil || !exists {
		return ""
	}
	return object.(*corev1.Pod).ResourceVersion
}

// run makes the updates, waits until the last one is synced, and prints the counts.
func (b *burst) run(ctx context.Context, clientset kubernetes.Interface, hasSynced []cache.DoneChecker) error {
	if b.updates == 0 || !cache.WaitFor(ctx, "", hasSynced...) {
		return nil
	}
	if b.resourceVersion() == "" {
		return program.Usagef("there is no pod %s among the watched ones: name another with --burst-key", b.key)
	}
	b.mu.Lock()
	b.syncs = 0
	b.mu.Unlock()
	start := time.Now()
	var last string
	for i := range b.updates {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/burst":"%d of %d, begun at %s"}}}`,
			i+1, b.updates, start.Format(time.RFC3339Nano))
		pod, err := clientset.CoreV1().Pods(b.key.Namespace).Patch(ctx, b.key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		last = pod.ResourceVersion
	}
	took := time.Since(start).Round(time.Millisecond)
	err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		order, err := resourceversion.CompareResourceVersion(b.synced, last)
		return err == nil && order >= 0, nil
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.out.Line("BURST", "%d updates of %s in %s led to %d sync(s), never more than %d at once",
		b.updates, b.key, took, b.syncs, b.maxConcurrent)
	return nil
}
