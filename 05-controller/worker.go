// worker.go: workers, each of which syncs one key at a time.
// The same file in chapters 4 to 6.

package main

import (
	"context"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Run syncs keys until ctx ends, drains, and returns when all workers have returned. The workers' requests do not end with
// ctx, but with workerCtx.
func (c *Controller) Run(ctx, workerCtx context.Context, workers int) {
	logger := klog.FromContext(ctx)
	logger.Info("Starting " + controllerName + " controller")
	defer logger.Info("Stopping " + controllerName + " controller")

	workerCtx, cancelWorkers := context.WithCancel(workerCtx)
	defer cancelWorkers()
	// A worker that starts earlier takes each object that is not in the store yet for a deleted one.
	if !cache.WaitFor(ctx, "", c.hasSynced...) {
		cancelWorkers() // ctx ended first: the workers only name the queued keys
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() { c.runWorker(workerCtx) })
	}
	<-ctx.Done()
	c.drain(&group, cancelWorkers)
}

func (c *Controller) runWorker(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx) // logs a panic, and panics on: Kubernetes restarts the program
	for c.processNextItem(ctx) {
	}
}

// processNextItem waits for a key and syncs it. It returns false when the queue is shut down and empty.
func (c *Controller) processNextItem(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	// Until Done the queue gives this key to no other worker. If it is added meanwhile, it is queued again at Done.
	defer c.queue.Done(key)
	if ctx.Err() != nil {
		c.out.Line("LEFT", "%s was queued", key)
		return true
	}

	c.processing.Add(1)
	defer c.processing.Add(-1)
	c.syncs.Add(1)
	// What client-go logs of this sync's requests (-v 6) then names the key.
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "key", key))
	err := c.syncHandler(ctx, key)
	c.handleErr(ctx, err, key)
	return true
}
