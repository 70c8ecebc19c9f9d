// reconcile.go: what the controller does for one DatabaseManager.
// Before: main.go. Next: children/children.go.

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/database"
	"example.com/client-go-workbook/internal/controller/failure"
)

// reconcile brings the actual state in line with the desired state, which is the spec of the DatabaseManager of that
// name, and the status in line with the actual state.
//
// It does not know which events led here, and does not need to: it reads the desired and the actual state from the stores,
// and writes what differs. So it can run twice, or be killed between two writes and run again, with the same result.
func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) error {
	if !c.shard.HasNamespace(key.Namespace, c.out) {
		return nil // another process syncs it
	}
	stale := c.consistency.EnsureReady(key) // before the stores are read
	d, err := c.databaseLister.DatabaseManagers(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.consistency.Clear(key)
		c.children.Clear(key)
		return nil // the garbage collector deletes the children
	}
	if err != nil {
		return fmt.Errorf("reading DatabaseManager %s: %w", key, err)
	}
	deployment, err := c.deploymentLister.Deployments(d.Namespace).Get(d.Spec.DeploymentName)
	if err != nil || !database.BelongsTo(deployment, d) || !database.HasAdopted(d) {
		deployment = nil
	}

	ownersAreRight := false // each child has the reference that the deletionPolicy wants, or none: then the status gets observedGeneration
	switch {
	case stale != nil:
		err = stale // without our last writes in the stores, the controller would do them again
	case d.DeletionTimestamp != nil:
		d, ownersAreRight, err = c.children.Release(ctx, d)
		if err == nil && len(d.Finalizers) == 0 {
			return nil // it is gone
		}
	default:
		d, deployment, ownersAreRight, err = c.children.Apply(ctx, d, deployment)
	}
	if err != nil && !failure.IsReported(err, c.queue.NumRequeues(key)) {
		return err
	}
	if statusErr := c.applyStatus(ctx, d, deployment, ownersAreRight, err); statusErr != nil {
		return statusErr
	}
	return err
}
