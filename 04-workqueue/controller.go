package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"example.com/client-go-workbook/internal/program"
)

// maxRetries is how often a key that fails is tried again. The attempts come after 5, 10, 20, 40 and 80 ms.
const maxRetries = 5

// Controller brings three things together: an informer that tells what has changed, a queue that remembers it
// until somebody has time, and an indexer to look up how the object is by then.
type Controller struct {
	indexer  cache.Indexer
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName]
	informer cache.ResourceEventHandlerRegistration // an informer's word on the handlers that fill the queue

	syncHandler func(cache.ObjectName) error // syncToStdout, with what the flags put around it
	backoff     *backoff
	drainFor    time.Duration
	out         *program.Printer

	working atomic.Int32 // keys in workers' hands
	giveUp  atomic.Bool  // workers name keys instead of syncing them
}

// NewController returns a controller whose informer is still to be started.
func NewController(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], indexer cache.Indexer, informer cache.ResourceEventHandlerRegistration, b *backoff, out *program.Printer) *Controller {
	c := &Controller{indexer: indexer, queue: queue, informer: informer, backoff: b, drainFor: 20 * time.Second, out: out}
	c.syncHandler = c.syncToStdout
	return c
}

// Run syncs until ctx ends, drains, and returns when no worker is left.
func (c *Controller) Run(ctx context.Context, workers int) {
	defer c.queue.ShutDown()
	logger := klog.FromContext(ctx)
	logger.Info("Starting Pod controller")
	defer logger.Info("Stopping Pod controller")

	// A worker that starts earlier finds an empty store, and takes each pod for a deleted one.
	if !cache.WaitFor(ctx, "", c.informer.HasSyncedChecker()) {
		c.giveUp.Store(true) // Ctrl-C came first: the workers only name what is queued
	}
	var group sync.WaitGroup
	for range workers {
		// The workers end with the queue, not with ctx, which would cut what they have in hand.
		group.Go(func() { c.runWorker(context.WithoutCancel(ctx)) })
	}
	<-ctx.Done()
	c.drain(&group)
}

func (c *Controller) runWorker(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx) // logs a panic, and panics on: Kubernetes starts the program again
	for c.processNextItem(ctx) {
	}
}

// processNextItem waits for a key, syncs it, and returns false when the queue is shut down and empty.
func (c *Controller) processNextItem(ctx context.Context) bool {
	key, quit := c.queue.Get()
	if quit {
		return false
	}
	// Until Done the queue gives this key to nobody else. Adds in the meantime make one more turn together.
	defer c.queue.Done(key)
	if c.giveUp.Load() {
		c.queue.Forget(key)
		c.out.Line("LEFT", "%s was queued", key)
		return true
	}

	c.working.Add(1)
	defer c.working.Add(-1)
	err := c.syncHandler(key)
	c.handleErr(ctx, err, key)
	return true
}

// syncToStdout is where a controller would do its work: bring the world in line with the object. This one only
// prints which it is. What happened to the object it isn't told, and must not need: of ten updates it may see one.
func (c *Controller) syncToStdout(key cache.ObjectName) error {
	name := key.String()
	object, exists, err := c.indexer.GetByKey(name)
	if err != nil {
		return fmt.Errorf("looking up %s: %w", key, err)
	}
	if !exists {
		c.out.Print("Pod ", name, " does not exist anymore")
		return nil
	}
	// Deleted and made again under the same name it would look the same: who must tell compares UIDs.
	c.out.Print("Sync/Add/Update for Pod ", object.(*corev1.Pod).Name)
	return nil
}

// handleErr decides what becomes of a key after its sync.
func (c *Controller) handleErr(ctx context.Context, err error, key cache.ObjectName) {
	if err == nil {
		c.queue.Forget(key)
		return
	}
	attempt := c.queue.NumRequeues(key) + 1
	if attempt > maxRetries {
		// Without Forget the key's next event would begin with the longest delay, and drop it at the first failure.
		c.queue.Forget(key)
		c.out.Line("DROPPED", "%s after attempt %d: %v", key, attempt, err)
		utilruntime.HandleErrorWithContext(ctx, err, "Dropping pod out of the queue", "pod", key)
		return
	}
	c.queue.AddRateLimited(key)
	if !c.queue.ShuttingDown() { // else it is not added, and drain names it
		c.out.Line("RETRY", "%s attempt %d failed, next in %s: %v", key, attempt, c.backoff.delay(key).Round(time.Millisecond), err)
	}
}
