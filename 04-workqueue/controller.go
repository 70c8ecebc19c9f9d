// controller.go: what a worker does with a key, and what becomes of the key afterwards.
// Before: handler.go. Next: worker.go.

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/controller/retryqueue"
	"example.com/client-go-workbook/internal/program"
)

// Controller brings three things together: an informer that reports which pods have changed, a queue that keeps their
// names until a worker is free, and an indexer in which the worker looks up how the pod is by then.
type Controller struct {
	indexer     cache.Indexer
	queue       *retryqueue.Queue
	hasSynced   []cache.DoneChecker // done when the handler has seen all pods of the first list
	syncHandler func(context.Context, cache.ObjectName) error
	drainFor    time.Duration
	out         *program.Printer

	processing atomic.Int32 // keys that workers hold now
	syncs      atomic.Int64
}

// NewController returns a controller whose informer is still to be started.
func NewController(
	pods coreinformers.TypedPodInformer,
	out *program.Printer,
) (*Controller, error) {
	// A key waits 5 ms after its first failure, and twice as long after each further one, up to a minute. And all keys
	// together get 10 retries a second, once they have used up the first 100.
	limiter := workqueue.NewTypedWithMaxWaitRateLimiter(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](), time.Minute)
	c := &Controller{
		indexer: pods.Informer().GetIndexer(),
		queue:   retryqueue.New(limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: queueName}),
		out:     out,
	}
	c.syncHandler = c.syncToStdout
	registration, err := pods.TypedInformer().AddTypedEventHandler(podHandler(out, c.queue))
	if err != nil {
		return nil, err
	}
	c.hasSynced = []cache.DoneChecker{registration.HasSyncedChecker()}
	return c, nil
}

// syncToStdout is where a controller brings the actual state in line with the desired state. This one only prints the pod.
// It does not know which events led here and must not depend on them: ten updates can end in one sync.
func (c *Controller) syncToStdout(_ context.Context, key cache.ObjectName) error {
	name := key.String()
	object, exists, err := c.indexer.GetByKey(name)
	if err != nil {
		return fmt.Errorf("looking up %s: %w", key, err)
	}
	if !exists {
		c.out.Print("Pod ", name, " does not exist anymore")
		return nil
	}
	// A pod that was deleted and recreated under the same name looks the same here. If the difference matters, compare UIDs.
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
		// Without Forget, the key's next failure would drop it at once, without a retry.
		c.queue.Forget(key)
		c.out.Line("DROPPED", "%s after attempt %d: %v", key, attempt, err)
		utilruntime.HandleErrorWithContext(ctx, err, "Dropping pod out of the queue") // the logger of ctx has the key
		return
	}
	c.queue.AddRateLimited(key)
	if !c.queue.ShuttingDown() { // then drain names it
		c.out.Line("RETRY", "%s attempt %d failed, next in %s: %v", key, attempt, c.queue.Delay(key).Round(time.Millisecond), err)
	}
}

// maxRetries is how many times a failed key is retried. The retries come after 5, 10, 20, 40 and 80 ms.
const maxRetries = 5
