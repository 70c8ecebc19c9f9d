// controller.go: which event enqueues which key, one sync, and what becomes of its error.
// Before: main.go. Next: children.go.

package main

import (
	"context"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"example.com/client-go-workbook/06-crd-codegen/children"
	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/program"
)

// The permissions, from which controller-gen makes role.yaml.
//
// +kubebuilder:rbac:groups=coolops.cn,resources=databasemanagers,verbs=list;watch;get;patch
// +kubebuilder:rbac:groups=coolops.cn,resources=databasemanagers/status,verbs=patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;get;patch;create;update
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch;get;patch;create;update
// +kubebuilder:rbac:groups="",resources=secrets;persistentvolumeclaims,verbs=list;watch;get;patch;create
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=workbook-06-crd-codegen,verbs=get;update

// reconciler keeps the children of each DatabaseManager in their desired state.
type reconciler struct {
	client.Client               // reads from the cache, and waits there for its own writes
	cache         client.Reader // reads from the cache, and does not wait
	server        client.Reader // reads from the API server
	children      *children.Children
	watched       []watched
	limiter       workqueue.TypedRateLimiter[reconcile.Request] // the queue's
	stale         workqueue.TypedRateLimiter[reconcile.Request]
	recorder      recorder.EventRecorder
	out           *program.Printer
}

// The indexes of the cache.
const (
	byDeploymentName = "spec.deploymentName"
	byFirstOwner     = "firstOwner"
)

// addController adds the controller to the manager.
func addController(ctx context.Context, m manager.Manager, o options, out *program.Printer) error {
	r := &reconciler{
		Client: m.GetClient(), cache: m.GetCache(), server: m.GetAPIReader(),
		// The queue's own limiter would let the delays grow to 1000 s.
		limiter:  workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, time.Minute),
		stale:    workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, 10*time.Second),
		recorder: m.GetEventRecorder(database.FieldManager),
		out:      out,
	}
	r.children = children.New(r, out)
	r.addChildren()
	for _, index := range []struct {
		object client.Object
		field  string
		value  func(client.Object) []string
	}{
		{&dbv1alpha1.DatabaseManager{}, byDeploymentName, func(o client.Object) []string {
			return []string{o.(*dbv1alpha1.DatabaseManager).Spec.DeploymentName}
		}},
		{&dbv1alpha1.DatabaseManager{}, byFirstOwner, func(o client.Object) []string {
			return []string{database.FirstOwner(o.(*dbv1alpha1.DatabaseManager))}
		}},
		{&corev1.Pod{}, byFirstOwner, func(o client.Object) []string { return []string{o.GetLabels()[database.FirstOwnerLabel]} }},
	} {
		if err := m.GetFieldIndexer().IndexField(ctx, index.object, index.field, index.value); err != nil {
			return err
		}
	}
	b := builder.ControllerManagedBy(m).For(&dbv1alpha1.DatabaseManager{}).WithOptions(controller.Options{
		MaxConcurrentReconciles: o.workers,
		RateLimiter:             r.limiter,
		RecoverPanic:            new(false), // Kubernetes restarts the program
		EnableWarmup:            new(!o.asItComes),
		// A read waits for the own write as long as this: a watch can hang.
		ReconciliationTimeout: consistency.StalledAfter,
	})
	for _, child := range r.watched {
		// Owns would enqueue the owner that the reference names. But a reference can be removed, with deletionPolicy Retain there is none,
		// and when somebody else's object frees its name, the DatabaseManager that waits for the name has to be enqueued.
		b.Watches(child.object, r.enqueue(byDeploymentName, func(o client.Object) (string, bool) {
			return strings.CutSuffix(o.GetName(), child.suffix)
		}))
	}
	// Another one can wait for the children of one that is gone.
	b.Watches(&dbv1alpha1.DatabaseManager{}, r.enqueue(byDeploymentName, func(o client.Object) (string, bool) {
		return o.(*dbv1alpha1.DatabaseManager).Spec.DeploymentName, true
	}), builder.WithPredicates(deleted))
	b.Watches(&corev1.Pod{}, r.enqueue(byFirstOwner, func(o client.Object) (string, bool) {
		return o.GetLabels()[database.FirstOwnerLabel], true
	}), builder.WithPredicates(causeChanged))
	return b.Complete(r)
}

// enqueue returns a handler that enqueues the DatabaseManagers that have an object's value in an index. It reads from the cache itself: it
// must not wait for an event.
func (r *reconciler) enqueue(index string, valueOf func(client.Object) (string, bool)) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) (requests []reconcile.Request) {
		value, ok := valueOf(o)
		if !ok {
			return nil
		}
		var owners dbv1alpha1.DatabaseManagerList
		if err := r.cache.List(ctx, &owners, client.InNamespace(o.GetNamespace()), client.MatchingFields{index: value}); err != nil {
			return nil // the program ends: there is no other error
		}
		for _, d := range owners.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&d)})
		}
		return requests
	})
}

// deleted lets only the end of an object through.
var deleted = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(event.UpdateEvent) bool { return false },
}

// causeChanged lets those events of pods through that change why a pod is not ready. Most do not.
var causeChanged = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return causeOf(e.Object) != rollout.Cause{} },
	UpdateFunc: func(e event.UpdateEvent) bool { return causeOf(e.ObjectOld) != causeOf(e.ObjectNew) },
	DeleteFunc: func(e event.DeleteEvent) bool { return causeOf(e.Object) != rollout.Cause{} },
}

func causeOf(o client.Object) rollout.Cause { return rollout.CauseOf(o.(*corev1.Pod)) }

// Reconcile brings the children and the status of one DatabaseManager in line with its spec.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var d dbv1alpha1.DatabaseManager
	if err := r.Get(ctx, request.NamespacedName, &d); err != nil {
		r.stale.Forget(request)
		if apierrors.IsNotFound(err) {
			r.children.Clear(cache.NewObjectName(request.Namespace, request.Name))
		}
		return reconcile.Result{}, client.IgnoreNotFound(err) // the garbage collector deletes the children
	}
	err := r.sync(ctx, &d, r.limiter.NumRequeues(request))
	switch {
	case consistency.IsConflictOrStale(err):
		// No failure, and no success. RequeueAfter forgets the failures before; an error would be counted as one, and logged as one.
		return reconcile.Result{RequeueAfter: r.stale.When(request)}, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		err = nil // nothing can be created there any more
	}
	r.stale.Forget(request)
	return reconcile.Result{}, err
}

// sync does the work, and writes the status.
func (r *reconciler) sync(ctx context.Context, d *dbv1alpha1.DatabaseManager, failures int) error {
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: d.Namespace, Name: d.Spec.DeploymentName}
	if err := r.Get(ctx, key, deployment); client.IgnoreNotFound(err) != nil {
		return err
	} else if err != nil || !database.BelongsTo(deployment, d) || !database.HasAdopted(d) {
		deployment = nil
	}
	var err error
	ownersAreRight := false
	switch {
	case d.DeletionTimestamp != nil:
		d, ownersAreRight, err = r.children.Release(ctx, d)
		if err == nil && len(d.Finalizers) == 0 {
			return nil // it is gone
		}
	default:
		d, deployment, ownersAreRight, err = r.children.Apply(ctx, d, deployment)
	}
	if err != nil && !failure.IsReported(err, failures) {
		return err
	}
	if statusErr := r.applyStatus(ctx, d, deployment, ownersAreRight, err); statusErr != nil {
		return statusErr
	}
	return err
}
