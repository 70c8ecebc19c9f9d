package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/consistency"
)

// client is what is needed of a clientset's client for objects O with apply configurations A.
type client[O, A any] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
	Apply(ctx context.Context, desired A, options metav1.ApplyOptions) (O, error)
	Update(ctx context.Context, object O, options metav1.UpdateOptions) (O, error)
}

// object is a pointer to an API object.
type object interface {
	metav1.Object
	runtime.Object
	comparable
}

// applyConfiguration is a pointer to an apply configuration A: an object of which only the fields are set that
// somebody has an opinion on.
type applyConfiguration[A any] interface {
	comparable
	WithUID(types.UID) A
	WithResourceVersion(string) A
}

// child is a kind of child.
type child interface {
	apply(ctx context.Context, c *Controller, d *dbv1alpha1.DatabaseManager) (metav1.Object, error)
	release(ctx context.Context, c *Controller, d *dbv1alpha1.DatabaseManager) error
	watch(c *Controller, databases cache.TypedIndexer[*dbv1alpha1.DatabaseManager]) error
}

// childKind is a child whose objects are O. Its fields are what differs from one kind to the next.
type childKind[O object, A applyConfiguration[A]] struct {
	kind     string
	suffix   string // added to spec.deploymentName, makes the name
	informer cache.TypedSharedIndexInformer[O]
	clientIn func(namespace string) client[O, A]
	extract  func(existing O, manager string) (A, error)       // the fields of existing that the manager has set
	desired  func(d *dbv1alpha1.DatabaseManager, existing O) A // existing is nil if there is none; the result, if none is wanted
	withSpec func(existing O, desired A) (O, error)            // a copy of existing with the desired spec; nil: never replaced, its data would be lost
}

// newChild returns a child. C is the type of the kind's typed client: Go finds O and A by the other arguments.
func newChild[O object, A applyConfiguration[A], C client[O, A]](
	kind, suffix string,
	informer cache.TypedSharedIndexInformer[O],
	clientIn func(namespace string) C,
	extract func(existing O, manager string) (A, error),
	desired func(d *dbv1alpha1.DatabaseManager, existing O) A,
	withSpec func(existing O, desired A) (O, error),
) child {
	return childKind[O, A]{kind, suffix, informer, func(namespace string) client[O, A] { return clientIn(namespace) }, extract, desired, withSpec}
}

// apply brings a child in line with what is desired, and returns it, or nil if none is desired.
//
// It sends nothing if the fields that the API server knows as ours are the desired ones, no more and no less, and have
// the desired values. Whoever changes one of them takes it over, so that change is seen here and undone. Fields that
// we never set are not looked at: they are others' to set.
func (k childKind[O, A]) apply(ctx context.Context, c *Controller, d *dbv1alpha1.DatabaseManager) (metav1.Object, error) {
	var existing O
	var none A
	client, name := k.clientIn(d.Namespace), d.Spec.DeploymentName+k.suffix
	stored, exists, err := k.informer.GetStore().GetByKey(d.Namespace + "/" + name)
	if err != nil {
		return nil, err
	}
	if exists {
		existing = stored.(O)
	}
	desired := k.desired(d, existing)
	if desired == none {
		return nil, nil
	}
	if !exists {
		// Apply would also write onto an object that our store doesn't have: one that is too new, or without our label
		// because it's somebody else's. No object has a version so old, so this can only create.
		created, err := client.Apply(ctx, desired.WithResourceVersion("1"), applyOptions)
		if err == nil {
			return created, k.wrote(c, d, created, "CREATED")
		}
		if !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("creating %s %s: %w", k.kind, name, err)
		}
		existing, err = client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", k.kind, name, err)
		}
		desired = k.desired(d, existing)
	}
	if !belongsTo(existing, d) {
		if owner := metav1.GetControllerOfNoCopy(existing); owner != nil && owner.Kind == "DatabaseManager" && owner.Name == d.Name {
			return nil, waitingForDeletion{kind: k.kind, child: existing}
		}
		return nil, nameConflict{kind: k.kind, name: name}
	}
	owned, err := k.extract(existing, fieldManager)
	if err != nil {
		return nil, fmt.Errorf("reading the owned fields of %s %s: %w", k.kind, name, err)
	}
	if equality.Semantic.DeepEqual(owned, desired) {
		return existing, nil
	}
	if k.withSpec != nil && lacksElement(owned, desired) {
		if existing, err = k.replace(ctx, existing, desired); err != nil {
			return nil, err
		}
	}
	return k.update(ctx, c, d, existing, desired, "APPLIED")
}

// applyOptions: our fields are ours, whoever has changed them.
var applyOptions = metav1.ApplyOptions{FieldManager: fieldManager, Force: true}

// update applies what is desired to a child as it was read: not to one that has changed meanwhile, or to another object
// that has got its name. Both are conflicts, and lead to another look.
func (k childKind[O, A]) update(ctx context.Context, c *Controller, d *dbv1alpha1.DatabaseManager, existing O, desired A, word string) (metav1.Object, error) {
	if len(ownersOf(d)) > 0 && !metav1.IsControlledBy(existing, d) {
		if err := c.canAdopt(ctx, d); err != nil {
			return nil, err
		}
	}
	client := k.clientIn(d.Namespace)
	desired = desired.WithUID(existing.GetUID())
	applied, err := client.Apply(ctx, desired.WithResourceVersion(existing.GetResourceVersion()), applyOptions)
	if k.withSpec != nil && apierrors.IsInvalid(err) {
		if existing, err = k.replace(ctx, existing, desired); err != nil {
			return nil, err
		}
		applied, err = client.Apply(ctx, desired.WithResourceVersion(existing.GetResourceVersion()), applyOptions)
	}
	if err != nil {
		return nil, fmt.Errorf("updating %s %s: %w", k.kind, existing.GetName(), err)
	}
	return applied, k.wrote(c, d, applied, word)
}

// canAdopt returns nil if an existing child may get an owner reference to d.
//
// A child without one may have lost it to the garbage collector, which takes it off all children after `kubectl delete
// --cascade=orphan`. With the reference put back, the child would be deleted with its owner. Our store may be too old to
// know that the owner is being deleted, so this asks the server.
func (c *Controller) canAdopt(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	fresh, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading DatabaseManager %s: %w", d.Name, err)
	}
	if err != nil || fresh.UID != d.UID || fresh.Generation != d.Generation || !fresh.DeletionTimestamp.Equal(d.DeletionTimestamp) {
		return fmt.Errorf("DatabaseManager %s has changed: %w", d.Name, consistency.ErrStale)
	}
	return nil
}

// wrote reports a write: to people, and to the next sync, which has to see it.
func (k childKind[O, A]) wrote(c *Controller, d *dbv1alpha1.DatabaseManager, applied O, word string) error {
	c.writes.Add(1)
	c.out.Line(word, "%s %s/%s for DatabaseManager %s", k.kind, applied.GetNamespace(), applied.GetName(), d.Name)
	if applied.GetLabels()[managedByLabel] != fieldManager {
		return labelChanged{kind: k.kind, name: applied.GetName()}
	}
	c.consistency.WroteAt(cache.MetaObjectToName(d), k.informer.GetStore(), applied.GetResourceVersion())
	return nil
}

// belongsTo reports whether an object is a child of d. If somebody has removed the owner reference it still is, but
// not if they have put another in its place.
func belongsTo(existing metav1.Object, d *dbv1alpha1.DatabaseManager) bool {
	if owner := metav1.GetControllerOfNoCopy(existing); owner != nil {
		return owner.UID == d.UID // not the name, which could be that of an earlier DatabaseManager
	}
	return existing.GetLabels()[databaseLabel] == string(d.UID)
}

// waitingForDeletion is the error when a child of an earlier DatabaseManager of the same name is still there.
type waitingForDeletion struct {
	kind  string
	child metav1.Object
}

func (e waitingForDeletion) Error() string {
	text := fmt.Sprintf("waiting until the %s %s of an earlier DatabaseManager is deleted", e.kind, e.child.GetName())
	if finalizers := e.child.GetFinalizers(); len(finalizers) > 0 {
		text += "; its finalizers: " + strings.Join(finalizers, ", ")
	}
	return text
}

// nameConflict is the error when a child's name is taken.
type nameConflict struct{ kind, name string }

func (e nameConflict) Error() string {
	return fmt.Sprintf("there is a %s %s that belongs to somebody else: delete it, or make a new DatabaseManager with another deploymentName", e.kind, e.name)
}

// labelChanged is the error when the server has stored a child without the label by which our informer selects. It never
// comes into the store, and no event reports what becomes of it.
type labelChanged struct{ kind, name string }

func (e labelChanged) Error() string {
	return fmt.Sprintf("the label %s of %s %s was changed when it was written: exempt the controller's objects from the mutating admission policy or webhook that does this", managedByLabel, e.kind, e.name)
}
