package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/consistency"
)

// finalizer keeps a deleted DatabaseManager until its deletionPolicy has reached the children: with Retain they have no
// owner reference, and the garbage collector leaves them alone. Only DatabaseManagers with Retain have it, and those that
// had Retain until now: where the garbage collector does the work, it would only be one more thing that can get stuck.
const finalizer = "coolops.cn/retain"

// release lets a deleted DatabaseManager go, when its children have the owner reference or do not, as they should.
func (c *Controller) release(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	if !slices.Contains(d.Finalizers, finalizer) {
		return nil // others' finalizers may still hold it, but that is not our concern; nor is making children for it
	}
	var errs []error
	for _, child := range c.children { // all, even if one fails
		errs = append(errs, child.release(ctx, c, d))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, err := c.removeFinalizer(ctx, d)
	return err
}

// release brings a child's owner reference in line with ownersOf, if that is not done yet. It asks the server, not the
// store: a child that the store doesn't have yet would be lost.
func (k childKind[O, A]) release(ctx context.Context, c *Controller, d *dbv1alpha1.DatabaseManager) error {
	var none A
	name := d.Spec.DeploymentName + k.suffix
	existing, err := k.clientIn(d.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !belongsTo(existing, d) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", k.kind, name, err)
	}
	desired := k.desired(d, existing)
	if desired == none || metav1.IsControlledBy(existing, d) == (len(ownersOf(d)) > 0) {
		return nil
	}
	_, err = k.update(ctx, c, d, existing, desired, "RELEASED")
	return err
}

// addFinalizer adds our finalizer, if it is not there, and returns the object as it is then.
func (c *Controller) addFinalizer(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, error) {
	if slices.Contains(d.Finalizers, finalizer) {
		return d, nil
	}
	return c.updateFinalizers(ctx, d, append(slices.Clone(d.Finalizers), finalizer), "HELD")
}

// removeFinalizer removes our finalizer, if it is there, and returns the object as it is then. Others' finalizers stay.
func (c *Controller) removeFinalizer(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, error) {
	i := slices.Index(d.Finalizers, finalizer)
	if i < 0 {
		return d, nil
	}
	return c.updateFinalizers(ctx, d, slices.Delete(slices.Clone(d.Finalizers), i, i+1), "LET GO")
}

func (c *Controller) updateFinalizers(ctx context.Context, d *dbv1alpha1.DatabaseManager, finalizers []string, word string) (*dbv1alpha1.DatabaseManager, error) {
	changed := d.DeepCopy() // the store's object is everybody's
	changed.Finalizers = finalizers
	// A whole-object write, but one with a resourceVersion: it fails if anything has changed since we looked.
	updated, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).Update(ctx, changed, metav1.UpdateOptions{FieldManager: fieldManager})
	if apierrors.IsNotFound(err) {
		return d, fmt.Errorf("DatabaseManager %s is gone: %w", d.Name, consistency.ErrStale)
	}
	if err != nil {
		return d, fmt.Errorf("updating the finalizers: %w", err)
	}
	c.writes.Add(1)
	c.consistency.WroteAt(cache.MetaObjectToName(d), c.databaseStore, updated.ResourceVersion)
	c.out.Line(word, "DatabaseManager %s/%s by finalizer %s", d.Namespace, d.Name, finalizer)
	return updated, nil
}
