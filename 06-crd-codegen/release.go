package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// finalizer keeps a deleted DatabaseManager until its children are out of the garbage collector's reach. Only those
// with deletionPolicy Retain have it: where the garbage collector does the work, it would only be one more thing that
// can get stuck.
const finalizer = "coolops.cn/retain"

// release makes the children of a deleted DatabaseManager ownerless where that is asked for, and lets it go.
func (c *Controller) release(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	if !slices.Contains(d.Finalizers, finalizer) {
		return nil // others' finalizers may still hold it, but that is not our concern; nor is making children for it
	}
	if d.Spec.DeletionPolicy == dbv1alpha1.DeletionPolicyRetain {
		var errs []error
		for _, child := range c.children { // all, even if one fails
			errs = append(errs, child.release(ctx, c, d))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return c.removeFinalizer(ctx, d)
}

// release takes the owner reference off a child: an object that is being deleted wants none (see ownersOf). It asks
// the server, not the store: a child that the store doesn't have yet would be lost.
func (k childKind[O, A]) release(ctx context.Context, c *Controller, d *dbv1alpha1.DatabaseManager) error {
	client, name := k.clientIn(d.Namespace), d.Spec.DeploymentName+k.suffix
	existing, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(existing, d) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", k.kind, name, err)
	}
	applied, err := client.Apply(ctx, k.desired(d, existing).WithUID(existing.GetUID()), metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("releasing %s %s: %w", k.kind, name, err)
	}
	c.wrote(d, k.kind, applied, "RELEASED")
	return nil
}

// addFinalizer adds our finalizer, if it is not there.
func (c *Controller) addFinalizer(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	if slices.Contains(d.Finalizers, finalizer) {
		return nil
	}
	return c.updateFinalizers(ctx, d, append(slices.Clone(d.Finalizers), finalizer), "HELD")
}

// removeFinalizer removes our finalizer, if it is there. Others' stay.
func (c *Controller) removeFinalizer(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	i := slices.Index(d.Finalizers, finalizer)
	if i < 0 {
		return nil
	}
	return c.updateFinalizers(ctx, d, slices.Delete(slices.Clone(d.Finalizers), i, i+1), "LET GO")
}

func (c *Controller) updateFinalizers(ctx context.Context, d *dbv1alpha1.DatabaseManager, finalizers []string, word string) error {
	d = d.DeepCopy() // the store's object is everybody's
	d.Finalizers = finalizers
	// A whole-object write, but one with a resourceVersion: it fails if anything has changed since we looked.
	updated, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).Update(ctx, d, metav1.UpdateOptions{FieldManager: fieldManager})
	if apierrors.IsNotFound(err) {
		return nil // gone: somebody was faster
	}
	if err != nil {
		return fmt.Errorf("updating the finalizers: %w", err)
	}
	c.writes.Add(1)
	c.written.add(d, "DatabaseManager", updated)
	c.out.line(word, "DatabaseManager %s/%s by finalizer %s", d.Namespace, d.Name, finalizer)
	return nil
}
