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

// burst updates one pod many times, as fast as the server takes it, and counts what the controller makes of it.
type burst struct {
	key     cache.ObjectName
	updates int
	indexer cache.Indexer

	mu              sync.Mutex
	syncs           int
	working, atOnce int    // syncs that run now, and the most that ever did
	synced          string // resourceVersion that the newest sync saw
}

// around returns sync with the pod's syncs counted.
func (b *burst) around(sync func(cache.ObjectName) error) func(cache.ObjectName) error {
	return func(key cache.ObjectName) error {
		if key != b.key {
			return sync(key)
		}
		b.mu.Lock()
		b.syncs++
		b.working++
		b.atOnce = max(b.atOnce, b.working)
		b.mu.Unlock()
		version := b.version()
		err := sync(key) // sees that version, or a newer one
		b.mu.Lock()
		defer b.mu.Unlock()
		b.working--
		b.synced = version
		return err
	}
}

// version returns the resourceVersion of the pod in the store, or nothing.
func (b *burst) version() string {
	object, exists, err := b.indexer.GetByKey(b.key.String())
	if err != nil || !exists {
		return ""
	}
	return object.(*corev1.Pod).ResourceVersion
}

// run makes the updates, waits until the last one was synced, and prints the counts.
func (b *burst) run(ctx context.Context, clientset kubernetes.Interface, out *program.Printer) error {
	if b.version() == "" {
		return program.Usagef("there is no pod %s among the watched ones: name another with --burst-key", b.key)
	}
	b.mu.Lock()
	b.syncs = 0
	b.mu.Unlock()
	start := time.Now()
	var last string
	for i := range b.updates {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/burst":"%d of %d, begun at %s"}}}`, i+1, b.updates, start.Format(time.RFC3339Nano))
		pod, err := clientset.CoreV1().Pods(b.key.Namespace).Patch(ctx, b.key.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if ctx.Err() != nil {
			return nil // Ctrl-C came first
		}
		if err != nil {
			return err
		}
		last = pod.ResourceVersion
	}
	took := time.Since(start)
	err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		order, err := resourceversion.CompareResourceVersion(b.synced, last)
		return err == nil && order >= 0, nil
	})
	if err != nil {
		return nil // Ctrl-C
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	out.Line("BURST", "%d updates of %s in %s made %d sync(s), never more than %d at once", b.updates, b.key, took.Round(time.Millisecond), b.syncs, b.atOnce)
	return nil
}
