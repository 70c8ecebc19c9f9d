// reconcile.go: what the controller does for one DatabaseManager.
// Before: main.go. Next: children.go.

package main

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/failure"
)

// reconcile brings the actual state in line with the desired state, which is the spec of the DatabaseManager of that
// name, and the status in line with the actual state.
//
// It does not know which events led here, and does not need to: it reads the desired and the actual state from the stores,
// and writes what differs. So it can run twice, or be killed between two writes and run again, with the same result.
func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) error {
	stale := c.consistency.EnsureReady(key) // before the stores are read
	d, err := c.databaseLister.DatabaseManagers(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.consistency.Clear(key)
		return nil // the garbage collector deletes the children
	}
	if err != nil {
		return fmt.Errorf("reading DatabaseManager %s: %w", key, err)
	}
	deployment, err := c.deploymentLister.Deployments(d.Namespace).Get(d.Spec.DeploymentName)
	if err != nil || !belongsTo(deployment, d) {
		deployment = nil
	}

	switch {
	case stale != nil:
		err = stale // without our last writes in the stores, the controller would do them again
	case d.DeletionTimestamp != nil:
		d, err = c.release(ctx, d)
		if err == nil && len(d.Finalizers) == 0 {
			return nil // it is gone
		}
	case d.Spec.AdoptFrom != "" && c.mustWaitForSibling(d):
		deployment, err = nil, failure.Blocked{
			Reason: reasonNameConflict, Message: "another DatabaseManager already has the children of " + database.FirstOwner(d)}
	default:
		d, deployment, err = c.applyChildren(ctx, d, deployment)
	}
	if err != nil && !failure.IsReported(err, c.queue.NumRequeues(key)) {
		return err
	}
	if statusErr := c.applyStatus(ctx, d, deployment, err); statusErr != nil {
		return statusErr
	}
	return err
}

// applyChildren brings all children in line, in order, and goes on if one of them fails. It returns the DatabaseManager with
// or without the finalizer, and the Deployment: a newer one than the store's, if it has written it.
func (c *Controller) applyChildren(
	ctx context.Context,
	d *dbv1alpha1.DatabaseManager,
	deployment *appsv1.Deployment,
) (*dbv1alpha1.DatabaseManager, *appsv1.Deployment, error) {
	// As long as it has the finalizer, children can be without an owner reference. So the finalizer is added first, and
	// removed last.
	retain := d.Spec.DeletionPolicy == dbv1alpha1.DeletionPolicyRetain
	ask := c.askerOf(ctx, d)
	var err error
	if retain && !slices.Contains(d.Finalizers, finalizer) {
		if d, err = c.addFinalizer(ctx, d); err != nil {
			return d, deployment, failure.Unowned{Err: err}
		}
		ask = func() error { return nil } // or the server would have rejected the finalizer
	}
	var errs []error
	canCreate := true // none of the children before is missing
	for _, child := range c.children {
		applied, err := child.apply(ctx, d, canCreate, ask)
		canCreate = canCreate && (applied != nil || err == nil)
		errs = append(errs, err)
		if applied, ok := applied.(*appsv1.Deployment); ok {
			deployment = applied
		}
	}
	if !retain && !failure.IsUnowned(failure.Join(errs...)) { // all references are there, whatever else has failed
		d, err = c.removeFinalizer(ctx, d)
		errs = append(errs, err)
	}
	return d, deployment, failure.Join(errs...)
}
