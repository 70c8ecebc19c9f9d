// status.go: writing the status.
// Before: children.go. Next: handler.go.

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/children"
	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/rollout"
)

// applyStatus writes the status if it has changed, and an event if the database became ready or is no longer ready.
func (c *Controller) applyStatus(
	ctx context.Context, d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment, ownersAreRight bool, syncErr error,
) error {
	status := database.StatusOf(d, deployment, c.pods.CauseOf(database.FirstOwner(d)), ownersAreRight, syncErr)
	if apiequality.Semantic.DeepEqual(status, d.Status) {
		return nil
	}
	ready := apimeta.FindStatusCondition(status.Conditions, dbv1alpha1.ConditionReady)
	// This applies this controller's fields, and leaves others' alone, also those that this version does not know. It has the object's
	// resourceVersion: if anything has changed since it was read, the status is about an earlier state, and the answer is a conflict.
	applied := database.Status(d, status)
	updated, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).ApplyStatus(ctx, applied, children.ApplyOptions)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("DatabaseManager %s is deleted: %w", d.Name, consistency.ErrStale)
	}
	if err != nil {
		return fmt.Errorf("writing the status Ready=%s %s (%s): %w", ready.Status, ready.Reason, ready.Message, err)
	}
	c.consistency.WroteAt(cache.MetaObjectToName(d), "DatabaseManager", c.databaseIndexer, updated.ResourceVersion)
	c.out.Line("STATUS", "%s/%s Ready=%s %s: %s", d.Namespace, d.Name, ready.Status, ready.Reason, ready.Message)

	before := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady)
	if before == nil || before.Status != ready.Status || before.Reason != ready.Reason {
		level := corev1.EventTypeWarning
		if ready.Status == metav1.ConditionTrue || ready.Reason == rollout.ReasonPodsNotReady {
			level = corev1.EventTypeNormal
		}
		c.recorder.Event(d, level, ready.Reason, ready.Message)
	}
	return nil
}
