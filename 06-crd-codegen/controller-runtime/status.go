// status.go: writing the status.
// Before: children.go.

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/rollout"
)

// applyStatus writes the status if it has changed, and an event if the database became ready or is no longer ready.
func (r *reconciler) applyStatus(
	ctx context.Context, d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment, ownersAreRight bool, syncErr error,
) error {
	var pods corev1.PodList
	fields := client.MatchingFields{byFirstOwner: database.FirstOwner(d)}
	if err := r.cache.List(ctx, &pods, client.InNamespace(d.Namespace), fields); err != nil {
		return err
	}
	var theirs []*corev1.Pod
	for i := range pods.Items {
		theirs = append(theirs, &pods.Items[i])
	}
	status := database.StatusOf(d, deployment, rollout.CauseOf(theirs...), ownersAreRight, syncErr)
	if apiequality.Semantic.DeepEqual(status, d.Status) {
		return nil
	}
	ready := apimeta.FindStatusCondition(status.Conditions, dbv1alpha1.ConditionReady)
	applied := database.Status(d, status)
	err := r.Status().Apply(ctx, applied, client.ForceOwnership) // with the resourceVersion, as chapter 6
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("DatabaseManager %s is deleted: %w", d.Name, consistency.ErrStale)
	}
	if err != nil {
		return fmt.Errorf("writing the status Ready=%s %s (%s): %w", ready.Status, ready.Reason, ready.Message, err)
	}
	r.out.Line("STATUS", "%s/%s Ready=%s %s: %s", d.Namespace, d.Name, ready.Status, ready.Reason, ready.Message)
	before := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady)
	if before == nil || before.Status != ready.Status || before.Reason != ready.Reason {
		level := corev1.EventTypeWarning
		if ready.Status == metav1.ConditionTrue || ready.Reason == rollout.ReasonPodsNotReady {
			level = corev1.EventTypeNormal
		}
		r.recorder.Eventf(d, nil, level, ready.Reason, "Sync", "%s", ready.Message)
	}
	return nil
}
