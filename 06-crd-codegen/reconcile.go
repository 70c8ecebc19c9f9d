package main

import (
	"context"
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

	deployment, err := c.deploymentLister.Deployments(d.Namespace).Get(d.Spec.DeploymentName)
	if err != nil || !belongsTo(deployment, d) {
		deployment = nil
	}
	if d.DeletionTimestamp != nil {
		if err = c.release(ctx, d); err == nil {
			return nil
		}
	} else {
		deployment, err = c.applyChildren(ctx, d, deployment)
	}
	if err != nil && !isUserFacing(err) && c.queue.NumRequeues(key) < maxTransientErrors {
		return err
	}
	if statusErr := c.applyStatus(ctx, d, deployment, err); statusErr != nil {
		return statusErr
	}
	return err
}

// applyChildren brings all children in line. It stops at the first that it can't, and returns the Deployment: the
// store's, which may be nil, or a newer one.
func (c *Controller) applyChildren(ctx context.Context, d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment) (*appsv1.Deployment, error) {
	var err error
	if d.Spec.DeletionPolicy == dbv1alpha1.DeletionPolicyRetain {
		err = c.addFinalizer(ctx, d) // first: without it the children would go with the object
	} else {
		err = c.removeFinalizer(ctx, d)
	}
	if err != nil {
		return deployment, err
	}
	for _, child := range c.children {
		applied, err := child.apply(ctx, c, d)
		if err != nil {
			return deployment, err
		}
		if applied, ok := applied.(*appsv1.Deployment); ok {
			deployment = applied
		}
	}
	return deployment, nil
}
