package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"example.com/website/apis/website/v1alpha1"
	"example.com/website/generated/clientset/versioned"
	ownerinformers "example.com/website/generated/informers/externalversions/website/v1alpha1"
	"example.com/website/internal/consistency"
	"example.com/website/internal/ssa"
)

const (
	workers  = 5                // how many Websites are synced at once
	drainFor = 20 * time.Second // how long a sync may go on after SIGTERM
	// failures is how many in a row an object can have before its status says so: most of them end by themselves.
	failures = 8
)

// controller keeps the children of each Website in their desired state.
type controller struct {
	clients      kubernetes.Interface // for writes; it reads from the stores
	ownerClients versioned.Interface
	owners       ownerinformers.WebsiteInformer
	children     informers.SharedInformerFactory
	hasSynced    []cache.InformerSynced
	queue        workqueue.TypedRateLimitingInterface[cache.ObjectName]
	consistency  *consistency.Store // its own writes
	undone       ssa.Undone         // those of them that somebody changes back
}

func newController(
	clients kubernetes.Interface,
	ownerClients versioned.Interface,
	owners ownerinformers.WebsiteInformer,
	children informers.SharedInformerFactory,
) (*controller, error) {
	limiter := workqueue.NewTypedWithMaxWaitRateLimiter(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](), time.Minute)
	c := &controller{
		clients:      clients,
		ownerClients: ownerClients,
		owners:       owners,
		children:     children,
		queue:        workqueue.NewTypedRateLimitingQueue(limiter),
		consistency:  consistency.New(),
	}
	// A child has the name of its Website, so both have the same key.
	enqueue := func(object any) {
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			c.queue.Add(key)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
		DeleteFunc: enqueue,
	}
	for _, informer := range childInformers(children) {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return nil, err
		}
		c.hasSynced = append(c.hasSynced, registration.HasSynced)
	}
	// A write of the status leaves the generation as it is. Its event must not enqueue the key: a sync that fails writes the status, and
	// would be tried again at once, without an end. Another UID is another object: the watch has missed the deletion between them.
	handler.UpdateFunc = func(before, object any) {
		from, to := before.(*v1alpha1.Website), object.(*v1alpha1.Website)
		if from.UID != to.UID || from.Generation != to.Generation {
			enqueue(object)
		}
	}
	registration, err := owners.Informer().AddEventHandler(handler)
	if err != nil {
		return nil, err
	}
	c.hasSynced = append(c.hasSynced, registration.HasSynced)
	return c, nil
}

// run syncs until leaderCtx ends, and then what is queued. It makes no request after leaseCtx ends.
func (c *controller) run(leaderCtx, leaseCtx context.Context) {
	requests, cancel := context.WithCancel(leaseCtx)
	defer cancel()
	var group sync.WaitGroup
	if cache.WaitForCacheSync(leaderCtx.Done(), c.hasSynced...) {
		for range workers {
			group.Go(func() {
				for c.next(requests) {
				}
			})
		}
	}
	<-leaderCtx.Done()
	drain := time.AfterFunc(drainFor, cancel)
	defer drain.Stop()
	c.queue.ShutDown()
	group.Wait()
}

// next syncs the next key, and returns false at the end.
func (c *controller) next(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	err := c.sync(ctx, key)
	if err == nil {
		c.queue.Forget(key)
		return true
	}
	// A store that is a little late is no failure. One that is late for half a minute has a watch that may hang.
	if !consistency.IsConflictOrStale(err) || errors.Is(err, consistency.ErrWatchStalled) {
		klog.FromContext(ctx).Error(err, "Sync failed", "website", key)
	}
	c.queue.AddRateLimited(key)
	return true
}

// sync compares the desired with the actual state of a Website, and writes what differs.
func (c *controller) sync(ctx context.Context, key cache.ObjectName) error {
	if err := c.consistency.EnsureReady(key); err != nil {
		return err // the stores do not have its own last writes yet
	}
	stored, err := c.owners.Lister().Websites(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.consistency.Clear(key)
		c.undone.Clear(key)
		return nil // the garbage collector deletes what it had
	}
	if err != nil {
		return err
	}
	object := stored.DeepCopy()
	if object.DeletionTimestamp != nil {
		return nil
	}
	deployment, err := c.applyChildren(ctx, object)
	if consistency.IsConflictOrStale(err) {
		return err
	}
	return errors.Join(err, c.writeStatus(ctx, object, deployment, err))
}

// confirm asks the API server whether the Website is still as in the store. If the store is late, the write would undo a newer change,
// or create for an owner that is gone.
func (c *controller) confirm(ctx context.Context, object *v1alpha1.Website) error {
	current, err := c.ownerClients.WebsiteV1alpha1().Websites(object.Namespace).Get(ctx, object.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading the Website %s: %w", object.Name, err)
	}
	if err != nil || current.UID != object.UID || current.Generation != object.Generation || current.DeletionTimestamp != nil {
		return fmt.Errorf("the Website %s has changed: %w", object.Name, consistency.ErrStale)
	}
	return nil
}

// problem is an error that lasts until somebody acts. The status reports it at once.
type problem struct{ reason, message string }

func (p problem) Error() string { return p.message }

// writeStatus writes what is known of the Deployment, or why it is not known, if that differs from what was written last.
func (c *controller) writeStatus(ctx context.Context, object *v1alpha1.Website, deployment *appsv1.Deployment, failure error) error {
	key := cache.MetaObjectToName(object)
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: object.Generation,
	}
	var p problem
	switch {
	case failure == nil:
		condition.Status, condition.Reason = readiness(deployment)
	case errors.As(failure, &p):
		condition.Reason, condition.Message = p.reason, p.message
	case apierrors.IsForbidden(failure), apierrors.IsInvalid(failure):
		condition.Reason, condition.Message = string(apierrors.ReasonForError(failure)), failure.Error()
	case c.queue.NumRequeues(key) >= failures:
		condition.Reason, condition.Message = "SyncFailed", failure.Error()
	default:
		return nil
	}
	before := object.Status.DeepCopy()
	object.Status.ObservedGeneration = object.Generation
	apimeta.SetStatusCondition(&object.Status.Conditions, condition)
	if apiequality.Semantic.DeepEqual(before, &object.Status) {
		return nil
	}
	options := metav1.UpdateOptions{FieldManager: fieldManager}
	updated, err := c.ownerClients.WebsiteV1alpha1().Websites(object.Namespace).UpdateStatus(ctx, object, options)
	if apierrors.IsNotFound(err) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	c.consistency.WroteAt(key, "Website", c.owners.Informer().GetStore(), updated.ResourceVersion)
	return nil
}
