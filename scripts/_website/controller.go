package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	appsinformers "k8s.io/client-go/informers/apps/v1"
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

// What the controller may do. ./codegen.sh writes role.yaml from these comments.
//
// +kubebuilder:rbac:groups=example.com,resources=websites,verbs=list;watch;get
// +kubebuilder:rbac:groups=example.com,resources=websites/status,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;update;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update

const (
	fieldManager = "website-controller" // by this name, the API server records the fields that the controller has applied
	workers      = 5                    // how many Websites are synced at once
	drainFor     = 20 * time.Second     // how long a sync may go on after SIGTERM
)

// controller keeps the Deployment of each Website in its desired state.
type controller struct {
	clients      kubernetes.Interface // for writes; it reads from the stores
	ownerClients versioned.Interface
	owners       ownerinformers.WebsiteInformer
	children     appsinformers.DeploymentInformer
	hasSynced    []cache.InformerSynced
	queue        workqueue.TypedRateLimitingInterface[cache.ObjectName]
	consistency  *consistency.Store
}

func newController(
	clients kubernetes.Interface,
	ownerClients versioned.Interface,
	owners ownerinformers.WebsiteInformer,
	children appsinformers.DeploymentInformer,
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
	// A Deployment has the name of its Website, so both have the same key.
	enqueue := func(object any) {
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			c.queue.Add(key)
		}
	}
	for _, informer := range []cache.SharedIndexInformer{owners.Informer(), children.Informer()} {
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    enqueue,
			UpdateFunc: func(_, object any) { enqueue(object) },
			DeleteFunc: enqueue,
		})
		if err != nil {
			return nil, err
		}
		c.hasSynced = append(c.hasSynced, registration.HasSynced)
	}
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
	if !consistency.IsConflictOrStale(err) { // those are no failures: a store is a little late
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
		return nil // the garbage collector deletes what it had
	}
	if err != nil {
		return err
	}
	object := stored.DeepCopy()
	if object.DeletionTimestamp != nil {
		return nil
	}
	deployment, err := c.applyDeployment(ctx, object)
	return cmp.Or(c.writeStatus(ctx, object, deployment, err), err)
}

// applyDeployment creates the Deployment, or applies what differs in it.
func (c *controller) applyDeployment(ctx context.Context, object *v1alpha1.Website) (*appsv1.Deployment, error) {
	client := c.clients.AppsV1().Deployments(object.Namespace)
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	desired := desiredDeployment(object)
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(object, v1alpha1.SchemeGroupVersion.WithKind("Website"))}

	existing, err := c.children.Lister().Deployments(object.Namespace).Get(object.Name)
	if apierrors.IsNotFound(err) {
		if err := c.confirm(ctx, object); err != nil {
			return nil, err
		}
		// No object has a resourceVersion so old, so this apply can only create.
		created, err := client.Apply(ctx, ssa.WithOwners(desired, owner).WithResourceVersion("1"), options)
		return c.wrote(object, created, err)
	}
	if err != nil {
		return nil, err
	}
	if !metav1.IsControlledBy(existing, object) {
		return nil, fmt.Errorf("the Deployment %s is not this Website's: delete it, or choose another name", existing.Name)
	}
	if existing.DeletionTimestamp != nil {
		return existing, nil // the event of its deletion enqueues the key
	}
	owned, err := ssa.Owned(existing, appsv1ac.ExtractDeployment, fieldManager)
	if err != nil || apiequality.Semantic.DeepEqual(owned, desired) {
		return existing, err
	}
	if err := c.confirm(ctx, object); err != nil {
		return nil, err
	}
	applied, err := ssa.Apply(ctx, client, existing, owned, ssa.WithOwners(desired, owner), ssa.ReplaceSpec, options)
	return c.wrote(object, applied, err)
}

// wrote remembers a write of the Deployment: the next sync waits until the store has it.
func (c *controller) wrote(object *v1alpha1.Website, deployment *appsv1.Deployment, err error) (*appsv1.Deployment, error) {
	if err != nil {
		return nil, fmt.Errorf("applying the Deployment %s: %w", object.Name, err)
	}
	store := c.children.Informer().GetStore()
	c.consistency.WroteAt(cache.MetaObjectToName(object), "Deployment", store, deployment.ResourceVersion)
	return deployment, nil
}

// desiredDeployment returns the fields of the Deployment that are this controller's.
func desiredDeployment(object *v1alpha1.Website) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"website": object.Name}
	return appsv1ac.Deployment(object.Name, object.Namespace).
		WithLabels(labels).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(*object.Spec.Replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(corev1ac.PodSpec().
					WithContainers(corev1ac.Container().WithName("main").WithImage(object.Spec.Image)))))
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

// writeStatus writes what is known of the Deployment, if it differs from what was written last.
func (c *controller) writeStatus(ctx context.Context, object *v1alpha1.Website, deployment *appsv1.Deployment, failure error) error {
	if consistency.IsConflictOrStale(failure) {
		return nil
	}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: object.Generation, Reason: "Progressing",
	}
	switch {
	case failure != nil:
		condition.Reason, condition.Message = "Failed", failure.Error()
	case isReady(deployment):
		condition.Status, condition.Reason = metav1.ConditionTrue, "Available"
	}
	before := object.Status.DeepCopy()
	object.Status.ObservedGeneration = object.Generation
	apimeta.SetStatusCondition(&object.Status.Conditions, condition)
	if apiequality.Semantic.DeepEqual(before, &object.Status) {
		return nil
	}
	options := metav1.UpdateOptions{FieldManager: fieldManager}
	updated, err := c.ownerClients.WebsiteV1alpha1().Websites(object.Namespace).UpdateStatus(ctx, object, options)
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	c.consistency.WroteAt(cache.MetaObjectToName(object), "Website", c.owners.Informer().GetStore(), updated.ResourceVersion)
	return nil
}

// isReady says whether all pods are there, of the newest template.
func isReady(deployment *appsv1.Deployment) bool {
	status, replicas := deployment.Status, *deployment.Spec.Replicas
	return deployment.DeletionTimestamp == nil && status.ObservedGeneration >= deployment.Generation &&
		status.UpdatedReplicas == replicas && status.Replicas == replicas && status.AvailableReplicas == replicas
}
