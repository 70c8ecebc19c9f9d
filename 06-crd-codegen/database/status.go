// status.go: the status, which reports the actual state and every failure.

package database

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbv1alpha1ac "example.com/client-go-workbook/06-crd-codegen/pkg/generated/applyconfiguration/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/rollout"
)

// StatusOf returns the status of d. The Deployment is nil if there is none; ownersAreRight says that the deletionPolicy has reached all
// children, and syncErr is the error with which the sync ended. The same state always gives the same status: each write of a status is
// an event, which brings the next sync, so a status that differs each time would be written without end.
func StatusOf(
	d *dbv1alpha1.DatabaseManager,
	deployment *appsv1.Deployment,
	cause rollout.Cause,
	ownersAreRight bool,
	syncErr error,
) dbv1alpha1.DatabaseManagerStatus {
	status := *d.Status.DeepCopy() // the store's object must not be changed
	if ownersAreRight {
		status.ObservedGeneration = d.Generation
	}
	status.Selector = labels.FormatLabels(Selector(d))
	status.AvailableReplicas = 0
	ready := metav1.Condition{Status: metav1.ConditionFalse, Reason: ReasonDeleted, Message: "the Deployment is deleted"}
	progressing := ready
	if deployment != nil {
		status.AvailableReplicas = deployment.Status.AvailableReplicas
		ready, progressing = rollout.Conditions(deployment, Replicas(d), cause)
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

// Status returns what an apply has to send so that a DatabaseManager gets this status: this controller's fields and conditions, and
// not those of others. The answer is a conflict if it has changed since d was read.
func Status(d *dbv1alpha1.DatabaseManager, status dbv1alpha1.DatabaseManagerStatus) *dbv1alpha1ac.DatabaseManagerApplyConfiguration {
	applied := dbv1alpha1ac.DatabaseManagerStatus().WithAvailableReplicas(status.AvailableReplicas).WithSelector(status.Selector)
	if status.ObservedGeneration != 0 {
		applied.WithObservedGeneration(status.ObservedGeneration)
	}
	for _, name := range []string{dbv1alpha1.ConditionReady, dbv1alpha1.ConditionProgressing} {
		if c := apimeta.FindStatusCondition(status.Conditions, name); c != nil {
			applied.WithConditions(metav1ac.Condition().
				WithType(c.Type).
				WithStatus(c.Status).
				WithReason(c.Reason).
				WithMessage(c.Message).
				WithObservedGeneration(c.ObservedGeneration).
				WithLastTransitionTime(c.LastTransitionTime))
		}
	}
	return dbv1alpha1ac.DatabaseManager(d.Name, d.Namespace).WithResourceVersion(d.ResourceVersion).WithStatus(applied)
}

// ReasonDeleted is a reason of the condition Ready besides those in errors.go, internal/controller/rollout and internal/controller/failure.
const ReasonDeleted = "Deleted"
