// release.go: what happens to the children when a DatabaseManager is deleted, and the finalizer for it.
// Before: status.go. Next: handler.go.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/failure"
)

// finalizer keeps a deleted DatabaseManager until its deletionPolicy is applied to the children: with Retain they have no
// owner reference, and the garbage collector leaves them alone. A DatabaseManager has it only with Retain, and after a change
// to Delete until every child has its reference back. In all other cases the garbage collector does the work without it.
const finalizer = "coolops.cn/retain"

// release brings the owner references of a deleted DatabaseManager's children in line with its deletionPolicy, and then removes
// the finalizer. While others' finalizers hold the object, its deletionPolicy can change, so this one stays, too.
func (c *Controller) release(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, error) {
	hasFinalizer := slices.Contains(d.Finalizers, finalizer)
	if !hasFinalizer && (d.Status.ObservedGeneration == d.Generation || slices.Contains(d.Finalizers, metav1.FinalizerOrphanDependents)) {
		return d, nil // this is done, or the garbage collector does it
	}
	ask := c.askerOf(ctx, d)
	var errs []error
	for _, child := range c.children { // all of them, even if one fails
		errs = append(errs, child.release(ctx, d, ask))
	}
	err := failure.Join(errs...)
	isHeld := slices.ContainsFunc(d.Finalizers, func(name string) bool {
		return name != finalizer && name != metav1.FinalizerOrphanDependents && name != metav1.FinalizerDeleteDependents
	})
	if err != nil || !hasFinalizer || isHeld {
		return d, err
	}
	return c.removeFinalizer(ctx, d)
}

// release brings a child's owner reference in line. It asks the server, not the store: a child that the store does not have
// yet would be lost.
func (k typedKind[O, A]) release(ctx context.Context, d *dbv1alpha1.DatabaseManager, ask asker) error {
	var none A
	name := d.Spec.DeploymentName + k.suffix
	existing, err := k.clientIn(d.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return failure.Unowned{Err: fmt.Errorf("reading %s %s: %w", k.kind, name, err)}
	}
	if !belongsTo(existing, d) || k.desired(d, existing) == none {
		return nil
	}
	hasOwner, wantsOwner := metav1.IsControlledBy(existing, d), len(database.OwnerReferences(d)) > 0
	if wantsOwner && !hasOwner && !slices.Contains(d.Finalizers, finalizer) {
		// The garbage collector may have removed it, after `kubectl delete --cascade=orphan`.
		return failure.Unowned{Err: failure.Blocked{Reason: reasonOrphaned, Message: fmt.Sprintf(
			"%s %s has no owner reference any more, and stays: delete it yourself", k.kind, name)}}
	}
	_, err = k.setOwner(ctx, d, existing, ask)
	return err
}

// addFinalizer adds the finalizer, and returns the new object.
func (c *Controller) addFinalizer(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, error) {
	changed := d.DeepCopy() // the store's object must not be changed
	changed.Finalizers = append(changed.Finalizers, finalizer)
	return c.setFinalizer(ctx, changed, "ADDED")
}

// removeFinalizer removes the finalizer, if it is there, and returns the new object. Others' finalizers stay.
func (c *Controller) removeFinalizer(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, error) {
	if !slices.Contains(d.Finalizers, finalizer) {
		return d, nil
	}
	changed := d.DeepCopy()
	changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(name string) bool { return name == finalizer })
	return c.setFinalizer(ctx, changed, "REMOVED")
}

// setFinalizer writes the list of finalizers and nothing else. An update would write the whole object, and so remove each
// field that a newer CRD has and these Go types do not. With the resourceVersion it is a conflict if anything has changed
// since the object was read.
func (c *Controller) setFinalizer(ctx context.Context, d *dbv1alpha1.DatabaseManager, word string) (*dbv1alpha1.DatabaseManager, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": d.ResourceVersion, "finalizers": d.Finalizers}})
	if err != nil {
		return d, err
	}
	updated, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).
		Patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: database.FieldManager})
	if apierrors.IsNotFound(err) {
		return d, fmt.Errorf("DatabaseManager %s is deleted: %w", d.Name, consistency.ErrStale)
	}
	if err != nil {
		return d, fmt.Errorf("patching the finalizers: %w", err)
	}
	c.consistency.WroteAt(cache.MetaObjectToName(d), "DatabaseManager", c.databaseIndexer, updated.ResourceVersion)
	c.out.Line(word, "finalizer %s of DatabaseManager %s/%s", finalizer, d.Namespace, d.Name)
	return updated, nil
}
