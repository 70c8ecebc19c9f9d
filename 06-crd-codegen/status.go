// status.go: the status, which reports the actual state and every failure.
// Before: apply.go. Next: release.go.

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/consistency"
	"example.com/client-go-workbook/internal/rollout"
)

// applyStatus writes the status if it has changed, and an event if the database became ready or is no longer ready.
// The Deployment is nil if there is none; syncErr is the error with which the sync ended.
func (c *Controller) applyStatus(ctx context.Context, d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment, syncErr error) error {
	status := statusOf(d, deployment, c.pods.CauseOf(firstOwner(d)), syncErr)
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
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return fmt.Errorf("writing the status Ready=%s %s (%s): %w", ready.Status, ready.Reason, ready.Message, err)
	}
	c.consistency.WroteAt(cache.MetaObjectToName(d), c.databaseIndexer, updated.ResourceVersion)
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

var updateOptions = metav1.UpdateOptions{FieldManager: fieldManager}

// statusOf returns the status. The same state always gives the same status: each write of a status is an event, which
// brings the next sync, so a status that differs each time would be written without end.
func statusOf(
	d *dbv1alpha1.DatabaseManager,
	deployment *appsv1.Deployment,
	cause rollout.Cause,
	syncErr error,
) dbv1alpha1.DatabaseManagerStatus {
	status := *d.Status.DeepCopy()
	status.ObservedGeneration = d.Generation
	status.Selector = labels.FormatLabels(selectorOf(d))
	status.AvailableReplicas = 0
	var ready, progressing metav1.Condition
	if deployment != nil {
		status.AvailableReplicas = deployment.Status.AvailableReplicas
		ready, progressing = rollout.Conditions(deployment, replicasOf(d), cause)
	}
	if syncErr != nil {
		ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonOf(syncErr), Message: rollout.Message(syncErr.Error())}
		if errors.Is(syncErr, consistency.ErrLate) {
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

// The reasons of the condition Ready besides those of internal/rollout and of the API server (Forbidden, Invalid).
const (
	reasonNameConflict       = "NameConflict"
	reasonWaitingForDeletion = "WaitingForDeletion"
	reasonLabelChanged       = "LabelChanged"
	reasonWatchDelayed       = "WatchDelayed"
	reasonSyncFailed         = "SyncFailed"
)

// reasonOf returns the reason of the condition that reports an error. The CRD accepts no condition without one, but not
// every error has one, and a webhook's can be any text.
func reasonOf(err error) string {
	var ofChild childError
	switch reason := string(apierrors.ReasonForError(err)); {
	case errors.As(err, &ofChild):
		return ofChild.reason
	case errors.Is(err, consistency.ErrLate):
		return reasonWatchDelayed
	case strings.Contains(err.Error(), "exceeded quota"):
		return rollout.ReasonQuotaExceeded
	case rollout.IsReason(reason):
		return reason
	}
	return reasonSyncFailed
}

// isReported reports whether an error of a sync belongs in the status. An error that the user can act on does at once.
// Others are expected to end by themselves: the status would change back and forth if it reported each of them.
func (c *Controller) isReported(key cache.ObjectName, err error) bool {
	var ofChild childError
	switch {
	case errors.Is(err, consistency.ErrLate):
		return true
	case consistency.IsRace(err):
		return false
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false
	case errors.As(err, &ofChild) && ofChild.reason != reasonWaitingForDeletion, apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return true
	}
	return c.queue.NumRequeues(key) >= maxTransientErrors
}

// maxTransientErrors is how many times such errors can occur, one after another, before the status reports them. The
// delays between so many add up to 1.3 s, in which the garbage collector has usually deleted an earlier object's children.
const maxTransientErrors = 8
