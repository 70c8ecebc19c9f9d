// controller.go: what a controller consists of, and what becomes of a key after its sync.
// Before: reconcile.go. Next: reporter.go.

package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/retryqueue"
	"example.com/client-go-workbook/internal/program"
)

// Controller keeps a Deployment for each ConfigMap that describes a database.
type Controller struct {
	clientset   kubernetes.Interface // for writes; it reads from the stores
	configMaps  corelisters.ConfigMapLister
	deployments cache.TypedIndexer[*appsv1.Deployment]
	consistency *consistency.Store
	queue       *retryqueue.Queue
	informers   []cache.SharedInformer
	hasSynced   []cache.DoneChecker // done when the handlers have seen all objects of the first lists
	syncHandler func(context.Context, cache.ObjectName) error

	slowRetry time.Duration // for what a user has to repair elsewhere
	drainFor  time.Duration
	reporter  *reporter
	out       *program.Printer

	processing atomic.Int32 // keys that workers hold now
	syncs      atomic.Int64
}

// NewController returns a controller whose informers are still to be started.
func NewController(
	clientset kubernetes.Interface,
	configMaps coreinformers.TypedConfigMapInformer,
	deployments appsinformers.TypedDeploymentInformer,
	recorder record.EventRecorder,
	out *program.Printer,
) (*Controller, error) {
	limiter := workqueue.NewTypedWithMaxWaitRateLimiter(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](), time.Minute)
	c := &Controller{
		clientset:   clientset,
		configMaps:  configMaps.Lister(),
		deployments: deployments.TypedInformer().GetTypedIndexer(),
		consistency: consistency.New(),
		queue:       retryqueue.New(limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: queueName}),
		reporter:    newReporter(recorder, out),
		out:         out,
	}
	c.syncHandler = c.reconcile
	if err := deployments.TypedInformer().AddTypedIndexers(deploymentIndexers); err != nil {
		return nil, err
	}
	if err := addTypedHandler(c, configMaps.TypedInformer(), configMapHandler(c.queue)); err != nil {
		return nil, err
	}
	return c, addTypedHandler(c, deployments.TypedInformer(), deploymentHandler(c.queue))
}

// addTypedHandler adds a handler to an informer that the controller needs.
func addTypedHandler[O cache.Object](
	c *Controller,
	informer cache.TypedSharedIndexInformer[O],
	handler cache.TypedResourceEventHandler[O],
) error {
	registration, err := informer.AddTypedEventHandler(handler)
	if err != nil {
		return err
	}
	c.informers = append(c.informers, informer)
	c.hasSynced = append(c.hasSynced, registration.HasSyncedChecker())
	return nil
}

// handleErr decides what becomes of a key after its sync. There is no limit of retries: the desired and the actual
// state differ until a sync succeeds.
func (c *Controller) handleErr(_ context.Context, err error, key cache.ObjectName) {
	var terminal *terminalError
	switch {
	case err == nil:
		c.reporter.clearProblem(key)
		c.queue.Forget(key)
	case errors.As(err, &terminal):
		c.reporter.reportProblem(key, terminal)
		c.queue.Forget(key)
		if terminal.retryAfter > 0 {
			c.queue.AddAfter(key, terminal.retryAfter)
		}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		c.queue.Forget(key) // nothing can be created there any more
	case consistency.IsConflictOrStale(err):
		// This is no failure, and no success: the count of failures stays as it is. Usually the missing event enqueues the key
		// first. But it may never come, so the key is also added here.
		delay := c.queue.AddStale(key)
		if apierrors.IsConflict(err) {
			c.out.Line("AGAIN", "%s in %s: %v", key, delay, err)
		}
	default:
		c.queue.AddRateLimited(key)
		if !c.queue.ShuttingDown() { // then drain names it
			attempt, delay := c.queue.NumRequeues(key), c.queue.Delay(key).Round(time.Millisecond)
			c.out.Line("RETRY", "%s attempt %d failed, next in %s: %v", key, attempt, delay, err)
		}
	}
}
