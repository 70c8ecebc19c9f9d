package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"example.com/client-go-workbook/internal/consistency"
)

// Controller makes a Deployment for each ConfigMap that asks for a database.
type Controller struct {
	client      kubernetes.Interface // for writing; what it reads is in the stores
	configMaps  corelisters.ConfigMapLister
	deployments cache.TypedIndexer[*appsv1.Deployment]
	selector    labels.Selector // of the ConfigMaps in the store
	queue       workqueue.TypedRateLimitingInterface[cache.ObjectName]
	informers   []cache.DoneChecker // done when the handlers that fill the queue have seen the first lists

	syncHandler  func(context.Context, cache.ObjectName) error // reconcile
	backoff      *backoff
	staleBackoff workqueue.TypedRateLimiter[cache.ObjectName]
	slowRetry    time.Duration // for what a person must mend elsewhere
	drainFor     time.Duration
	consistency  *consistency.Store
	teller

	working atomic.Int32 // keys in workers' hands
	syncs   atomic.Int64
}

// Run syncs until ctx ends, drains, and returns when no worker is left. The workers' requests don't end with ctx, but
// with work, which is cut when another process has taken over.
func (c *Controller) Run(ctx, work context.Context, workers int) {
	defer c.queue.ShutDown()
	logger := klog.FromContext(ctx)
	logger.Info("Starting database controller")
	consistency.LogIfOff(logger)
	defer logger.Info("Stopping database controller")

	work, cut := context.WithCancel(work)
	defer cut()
	// A worker that starts earlier finds an empty store, and takes each Deployment for one that is missing.
	if !cache.WaitFor(ctx, "", c.informers...) {
		cut() // Ctrl-C came first
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(func() { c.runWorker(work) })
	}
	<-ctx.Done()
	c.drain(&group, cut)
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
	if ctx.Err() != nil {
		c.queue.Forget(key)
		c.out.Line("LEFT", "%s was queued", key)
		return true
	}

	c.working.Add(1)
	defer c.working.Add(-1)
	c.syncs.Add(1)
	err := c.syncHandler(ctx, key)
	c.handleErr(err, key)
	return true
}

// handleErr decides what becomes of a key after its sync. None is dropped: that the wish and the world are the same
// is what this program is for.
func (c *Controller) handleErr(err error, key cache.ObjectName) {
	var p *problem
	if !consistency.IsRace(err) {
		c.staleBackoff.Forget(key)
	}
	switch {
	case err == nil:
		c.fine(key)
		c.queue.Forget(key)
	case errors.As(err, &p):
		c.stuck(key, p)
		c.queue.Forget(key)
		if p.retryAfter > 0 {
			c.queue.AddAfter(key, p.retryAfter)
		}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		c.queue.Forget(key) // nothing can be made there any more
	case consistency.IsRace(err):
		// No failure, and no success: the count of failures stays as it is. Usually the event that is missing brings the key
		// back first. It may never come, so this does not rely on it.
		delay := c.staleBackoff.When(key)
		c.queue.AddAfter(key, delay)
		if apierrors.IsConflict(err) {
			c.out.Line("AGAIN", "%s in %s: %v", key, delay, err)
		}
	default:
		c.queue.AddRateLimited(key)
		if c.queue.ShuttingDown() {
			return // it is not added, and drain names it
		}
		attempt, delay := c.queue.NumRequeues(key), c.backoff.delay(key).Round(time.Millisecond)
		c.out.Line("RETRY", "%s attempt %d failed, next in %s: %v", key, attempt, delay, err)
	}
}
