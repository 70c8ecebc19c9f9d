package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/consistency"
)

// reconcile brings the actual state in line with the DatabaseManager of that name, and its status in line with the
// actual state. It does not know what has happened. It looks what there is, and writes what differs; so it may be run at
// any time, any number of times, and after it was killed between any two writes.
func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) error {
	d, err := c.databaseLister.DatabaseManagers(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.consistency.Clear(key)
		return nil // the garbage collector looks after the children
	}
	if err != nil {
		return fmt.Errorf("looking up %s: %w", key, err)
	}
	if err := c.consistency.EnsureReady(key); err != nil {
		return err // what a store does not have yet would be written again
	}

	deployment, err := c.deploymentLister.Deployments(d.Namespace).Get(d.Spec.DeploymentName)
	if err != nil || !belongsTo(deployment, d) {
		deployment = nil
	}
	if d.DeletionTimestamp != nil {
		if err = c.release(ctx, d); err == nil {
			return nil
		}
	} else {
		d, deployment, err = c.applyChildren(ctx, d, deployment)
	}
	if err != nil && (consistency.IsRace(err) || !isUserFacing(err) && c.queue.NumRequeues(key) < maxTransientErrors) {
		return err
	}
	if statusErr := c.applyStatus(ctx, d, deployment, err); statusErr != nil {
		return statusErr
	}
	return err
}

// applyChildren brings all children in line. It stops at the first that it can't. It returns the DatabaseManager with or
// without the finalizer, and the Deployment: the store's, which may be nil, or a newer one.
func (c *Controller) applyChildren(ctx context.Context, d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment) (*dbv1alpha1.DatabaseManager, *appsv1.Deployment, error) {
	// As long as it has the finalizer, children may have no owner reference. So it comes first, and goes last.
	retain := d.Spec.DeletionPolicy == dbv1alpha1.DeletionPolicyRetain
	var err error
	if retain {
		if d, err = c.addFinalizer(ctx, d); err != nil {
			return d, deployment, err
		}
	}
	for _, child := range c.children {
		applied, err := child.apply(ctx, c, d)
		if err != nil {
			return d, deployment, err
		}
		if applied, ok := applied.(*appsv1.Deployment); ok {
			deployment = applied
		}
	}
	if !retain {
		d, err = c.removeFinalizer(ctx, d)
	}
	return d, deployment, err
}
