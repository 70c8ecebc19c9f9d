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

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbinformers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions"
	dblisters "example.com/client-go-workbook/06-crd-codegen/pkg/generated/listers/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/consistency"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/retryqueue"
)

// Controller makes what each DatabaseManager asks for, and keeps it so.
type Controller struct {
	databases        versioned.Interface // for writing; what it reads is in the stores
	databaseLister   dblisters.DatabaseManagerLister
	deploymentLister appslisters.DeploymentLister
	children         []child
	pods             cache.TypedIndexer[*corev1.Pod]
	consistency      *consistency.Store
	databaseStore    cache.Store
	queue            *retryqueue.Queue
	informers        []cache.SharedInformer
	hasSynced        []cache.DoneChecker // done when the handlers that fill the queue have seen the first lists

	syncHandler  func(context.Context, cache.ObjectName) error // reconcile
	staleBackoff workqueue.TypedRateLimiter[cache.ObjectName]
	slowRetry    time.Duration // for what a person must mend elsewhere
	drainFor     time.Duration
	recorder     record.EventRecorder
	out          *program.Printer

	processing atomic.Int32 // keys that workers hold now
	syncs      atomic.Int64
	writes     atomic.Int64
}

// NewController returns a controller whose informers are still to be started.
func NewController(
	client kubernetes.Interface,
	databases versioned.Interface,
	childInformers informers.SharedInformerFactory,
	databaseInformers dbinformers.SharedInformerFactory,
	recorder record.EventRecorder,
	out *program.Printer,
) (*Controller, error) {
	informer := databaseInformers.Coolops().V1alpha1().DatabaseManagers()
	limiter := workqueue.NewTypedWithMaxWaitRateLimiter(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](), time.Minute)
	c := &Controller{
		databases:        databases,
		databaseLister:   informer.Lister(),
		databaseStore:    informer.Informer().GetStore(),
		deploymentLister: childInformers.Apps().V1().Deployments().Lister(),
		children:         childrenOf(client, childInformers),
		consistency:      consistency.New(),
		queue:            retryqueue.New(limiter, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: queueName}),
		staleBackoff:     consistency.NewBackoff(),
		slowRetry:        30 * time.Second,
		drainFor:         20 * time.Second,
		recorder:         recorder,
		out:              out,
	}
	c.syncHandler = c.reconcile

	if err := informer.TypedInformer().AddTypedIndexers(databaseIndexes); err != nil {
		return nil, err
	}
	if err := addHandler(c, informer.TypedInformer(), databaseHandler(c.queue)); err != nil {
		return nil, err
	}
	for _, child := range c.children {
		if err := child.watch(c, informer.TypedInformer().GetTypedIndexer()); err != nil {
			return nil, err
		}
	}
	return c, c.watchPods(childInformers.Core().V1().Pods().TypedInformer(), informer.TypedInformer().GetTypedIndexer())
}

func (k childKind[O, A]) watch(c *Controller, databases cache.TypedIndexer[*dbv1alpha1.DatabaseManager]) error {
	return addHandler(c, k.informer, k.childHandler(databases, c.queue))
}

// addHandler has a handler called at the events of an informer.
func addHandler[O object](c *Controller, informer cache.TypedSharedIndexInformer[O], handler cache.TypedResourceEventHandler[O]) error {
	registration, err := informer.AddTypedEventHandler(handler)
	if err != nil {
		return err
	}
	c.informers = append(c.informers, informer)
	c.hasSynced = append(c.hasSynced, registration.HasSyncedChecker())
	return nil
}

// handleErr decides what becomes of a key after its sync. None is dropped: that the wish and the world are the same
// is what this program is for.
func (c *Controller) handleErr(_ context.Context, err error, key cache.ObjectName) {
	if !consistency.IsRace(err) {
		c.staleBackoff.Forget(key)
	}
	switch {
	case err == nil:
		c.queue.Forget(key)
	case errors.As(err, &nameConflict{}):
		c.queue.Forget(key)
		c.queue.AddAfter(key, c.slowRetry) // whose name it is we don't watch
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		c.queue.Forget(key) // nothing can be made there any more
	case errors.As(err, &waitingForDeletion{}):
		c.queue.AddRateLimited(key) // no failure, and nothing to print
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
		attempt, delay := c.queue.NumRequeues(key), c.queue.Delay(key).Round(time.Millisecond)
		c.out.Line("RETRY", "%s attempt %d failed, next in %s: %s", key, attempt, delay, oneLine(err.Error()))
	}
}
