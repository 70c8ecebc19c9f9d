// status.go: the status, which reports the actual state and every failure.
// Before: ownership.go. Next: release.go.

package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/rollout"
)

// applyStatus writes the status if it has changed, and an event if the database became ready or is no longer ready.
// The Deployment is nil if there is none; syncErr is the error with which the sync ended.
func (c *Controller) applyStatus(ctx context.Context, d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment, syncErr error) error {
	status := statusOf(d, deployment, c.pods.CauseOf(database.FirstOwner(d)), syncErr)
	if apiequality.Semantic.DeepEqual(status, d.Status) {
		return nil
	}
	ready := apimeta.FindStatusCondition(status.Conditions, dbv1alpha1.ConditionReady)
	changed := d.DeepCopy() // the store's object must not be changed
	changed.Status = status
	// This writes the whole status, but with the object's resourceVersion: if anything has changed since it was read, the
	// status is about an earlier state, and the answer is a conflict.
	updated, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).UpdateStatus(ctx, changed, updateOptions)
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

var updateOptions = metav1.UpdateOptions{FieldManager: database.FieldManager}

// statusOf returns the status. The same state always gives the same status: each write of a status is an event, which
// brings the next sync, so a status that differs each time would be written without end.
func statusOf(
	d *dbv1alpha1.DatabaseManager,
	deployment *appsv1.Deployment,
	cause rollout.Cause,
	syncErr error,
) dbv1alpha1.DatabaseManagerStatus {
	status := *d.Status.DeepCopy()
	if !failure.IsUnowned(syncErr) {
		status.ObservedGeneration = d.Generation // the deletionPolicy has reached all children
	}
	status.Selector = labels.FormatLabels(database.Selector(d))
	status.AvailableReplicas = 0
	ready := metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonDeleted, Message: "the Deployment is deleted"}
	progressing := ready
	if deployment != nil {
		status.AvailableReplicas = deployment.Status.AvailableReplicas
		ready, progressing = rollout.Conditions(deployment, database.Replicas(d), cause)
	}
	if syncErr != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, failure.ReasonOf(syncErr), rollout.Message(syncErr.Error())
		if errors.Is(syncErr, consistency.ErrWatchStalled) {
			ready.Status = metav1.ConditionUnknown
		}
		progressing = ready
	}
	ready.Type, progressing.Type = dbv1alpha1.ConditionReady, dbv1alpha1.ConditionProgressing
	ready.ObservedGeneration, progressing.ObservedGeneration = d.Generation, d.Generation
	// SetStatusCondition keeps the transition time of a condition whose status has not changed.
	apimeta.SetStatusCondition(&status.Conditions, ready)
	apimeta.SetStatusCondition(&status.Conditions, progressing)
	return status
}

// The reasons of the condition Ready besides the reasons in internal/controller/rollout and internal/controller/failure.
const (
	reasonNameConflict       = "NameConflict"
	reasonWaitingForDeletion = "WaitingForDeletion"
	reasonLabelChanged       = "LabelChanged"
	reasonDeleted            = "Deleted"
	reasonOrphaned           = "Orphaned"
)
