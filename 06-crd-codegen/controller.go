// controller.go: what a controller consists of, and what becomes of a key after its sync.
// Before: informer.go. Next: worker.go.

package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/06-crd-codegen/children"
	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbinformers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions"
	dblisters "example.com/client-go-workbook/06-crd-codegen/pkg/generated/listers/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/retryqueue"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/shard"
)

// Controller keeps the children of each DatabaseManager in their desired state.
type Controller struct {
	databases        versioned.Interface // for writes; it reads from the stores
	databaseLister   dblisters.DatabaseManagerLister
	databaseIndexer  cache.TypedIndexer[*dbv1alpha1.DatabaseManager]
	deploymentLister appslisters.DeploymentLister
	pods             *rollout.Pods
	children         *children.Children
	consistency      *consistency.Store
	queue            *retryqueue.Queue
	informers        []cache.SharedInformer
	hasSynced        []cache.DoneChecker // done when the handlers have seen all objects of the first lists
	syncHandler      func(context.Context, cache.ObjectName) error

	drainFor time.Duration
	shard    shard.Shard
	recorder record.EventRecorder
	out      *program.Printer

	processing atomic.Int32 // keys that workers hold now
	syncs      atomic.Int64
}

// NewController returns a controller whose informers are still to be started.
func NewController(
	clientset kubernetes.Interface,
	databases versioned.Interface,
	childFactory informers.SharedInformerFactory,
	databaseFactory dbinformers.SharedInformerFactory,
	recorder record.EventRecorder,
	out *program.Printer,
) (*Controller, error) {
	informer := databaseFactory.Coolops().V1alpha1().DatabaseManagers()
	limiter := workqueue.NewTypedWithMaxWaitRateLimiter(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](), time.Minute)
	c := &Controller{
		databases:        databases,
		databaseLister:   informer.Lister(),
		databaseIndexer:  informer.TypedInformer().GetTypedIndexer(),
		deploymentLister: childFactory.Apps().V1().Deployments().Lister(),
		consistency:      consistency.New(),
		queue:            retryqueue.New(limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: queueName}),
		recorder:         recorder,
		out:              out,
	}
	c.syncHandler = c.reconcile
	if err := informer.TypedInformer().AddTypedIndexers(databaseIndexers); err != nil {
		return nil, err
	}
	if err := addTypedHandler(c, informer.TypedInformer(), c.databaseHandler()); err != nil {
		return nil, err
	}
	c.children = children.New(c, out)
	if err := c.addChildren(clientset, childFactory); err != nil {
		return nil, err
	}
	// A Deployment's status does not contain why its pods are not ready. The pods' own statuses do.
	pods := childFactory.Core().V1().Pods().TypedInformer()
	var err error
	if c.pods, err = rollout.NewPods(pods, database.FirstOwnerLabel); err != nil {
		return nil, err
	}
	return c, addTypedHandler(c, pods, c.pods.Handler(func(uid string) { c.enqueueOwners(firstOwnerIndex, uid) }))
}

// addTypedHandler adds a handler to an informer that the controller needs.
func addTypedHandler[O cache.Object](
	c *Controller, informer cache.TypedSharedIndexInformer[O], handler cache.TypedResourceEventHandler[O],
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
	switch {
	case err == nil:
		c.queue.Forget(key)
	case errors.As(err, new(failure.Blocked)):
		c.queue.AddRateLimited(key) // retried: its end may come without an event. The status shows it meanwhile
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		c.queue.Forget(key) // nothing can be created there any more
	case consistency.IsConflictOrStale(err):
		// This is no failure, and no success: the count of failures stays as it is. Usually the missing event enqueues the key
		// first. But it may never come, so the key is also added here.
		delay := c.queue.AddStale(key)
		if apierrors.IsConflict(err) || errors.Is(err, consistency.ErrWatchStalled) {
			c.out.Line("AGAIN", "%s in %s: %v", key, delay, err)
		}
	default:
		c.queue.AddRateLimited(key)
		if !c.queue.ShuttingDown() { // then drain names it
			attempt, delay := c.queue.NumRequeues(key), c.queue.Delay(key).Round(time.Millisecond)
			c.out.Line("RETRY", "%s attempt %d failed, next in %s: %s", key, attempt, delay, rollout.Message(err.Error()))
		}
	}
}
