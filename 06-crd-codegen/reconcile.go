package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// reconcile brings the actual state in line with the DatabaseManager of that name, and its status in line with the
// actual state. It does not know what has happened. It looks what there is, and writes what differs; so it may be run at
// any time, any number of times, and after it was killed between any two writes.
func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) error {
	d, err := c.databaseLister.DatabaseManagers(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.written.forget(key)
		return nil // the garbage collector looks after the children
	}
	if err != nil {
		return fmt.Errorf("looking up %s: %w", key, err)
	}
	if !c.written.seen(key) {
		return nil // the event of our own last write is still to come, and brings the key back
	}

	if d.DeletionTimestamp != nil {
		return c.release(ctx, d)
	}
	if d.Spec.DeletionPolicy == dbv1alpha1.DeletionPolicyRetain {
		err = c.addFinalizer(ctx, d)
	} else {
		err = c.removeFinalizer(ctx, d)
	}
	if err != nil {
		return err
	}
	deployment, err := c.applyChildren(ctx, d)
	if err != nil && !concernsUser(err) && c.queue.NumRequeues(key) < passesBy {
		return err
	}
	return errors.Join(err, c.applyStatus(ctx, d, deployment, err))
}

// applyChildren brings all children in line. It stops at the first that it can't, and returns the Deployment, if
// there is one.
func (c *Controller) applyChildren(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*appsv1.Deployment, error) {
	deployment, err := c.deploymentLister.Deployments(d.Namespace).Get(d.Spec.DeploymentName)
	if err != nil || !belongsTo(deployment, d) {
		deployment = nil
	}
	for _, child := range c.children {
		applied, err := child.apply(ctx, c, d)
		if err != nil {
			return deployment, err
		}
		if applied, ok := applied.(*appsv1.Deployment); ok {
			deployment = applied // newer than the store's, if it was written just now
		}
	}
	return deployment, nil
}
