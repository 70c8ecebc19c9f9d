// status.go: the whole DatabaseManager: all its children, its finalizer, whose an object is, and the status.
// Before: children.go.

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/rollout"
)

func requestOf(d *dbv1alpha1.DatabaseManager) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(d)}
}

// asker returns nil if the server has the DatabaseManager as the cache has it. To wait for one's own writes does not make a cache
// new: after a start there are none, and others write, too.
type asker func() error

func (r *reconciler) askerOf(ctx context.Context, d *dbv1alpha1.DatabaseManager) asker {
	return func() error {
		var fresh dbv1alpha1.DatabaseManager
		err := r.server.Get(ctx, client.ObjectKeyFromObject(d), &fresh)
		if client.IgnoreNotFound(err) != nil {
			return failure.Unowned{Err: fmt.Errorf("reading DatabaseManager %s: %w", d.Name, err)}
		}
		if err != nil || fresh.UID != d.UID || fresh.Generation != d.Generation ||
			!fresh.DeletionTimestamp.Equal(d.DeletionTimestamp) || !slices.Equal(fresh.Finalizers, d.Finalizers) {
			return fmt.Errorf("DatabaseManager %s has changed: %w", d.Name, consistency.ErrStale)
		}
		return nil
	}
}

// applyChildren brings all children in line, in order, and goes on if one of them fails.
func (r *reconciler) applyChildren(
	ctx context.Context,
	d *dbv1alpha1.DatabaseManager,
	deployment *appsv1.Deployment,
) (*dbv1alpha1.DatabaseManager, *appsv1.Deployment, error) {
	retain, ask := d.Spec.DeletionPolicy == dbv1alpha1.DeletionPolicyRetain, r.askerOf(ctx, d)
	var err error
	if retain && !controllerutil.ContainsFinalizer(d, finalizer) {
		if d, err = r.setFinalizer(ctx, d, controllerutil.AddFinalizer, "ADDED"); err != nil {
			return d, deployment, failure.Unowned{Err: err}
		}
		ask = func() error { return nil } // or the server would have rejected the finalizer
	}
	var errs []error
	canCreate := true // none of the children before is missing
	for _, child := range r.children {
		applied, err := child.apply(ctx, d, canCreate, ask)
		canCreate = canCreate && (applied != nil || err == nil)
		errs = append(errs, err)
		if applied, ok := applied.(*appsv1.Deployment); ok {
			deployment = applied
		}
	}
	if !retain && !failure.IsUnowned(failure.Join(errs...)) {
		d, err = r.setFinalizer(ctx, d, controllerutil.RemoveFinalizer, "REMOVED")
		errs = append(errs, err)
	}
	return d, deployment, failure.Join(errs...)
}

// release brings the owner references of a deleted DatabaseManager's children in line, and then removes the finalizer.
func (r *reconciler) release(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, error) {
	hasFinalizer := controllerutil.ContainsFinalizer(d, finalizer)
	if !hasFinalizer && (d.Status.ObservedGeneration == d.Generation || slices.Contains(d.Finalizers, metav1.FinalizerOrphanDependents)) {
		return d, nil
	}
	var errs []error
	for _, child := range r.children {
		errs = append(errs, child.release(ctx, d, r.askerOf(ctx, d)))
	}
	isHeld := slices.ContainsFunc(d.Finalizers, func(name string) bool {
		return name != finalizer && name != metav1.FinalizerOrphanDependents && name != metav1.FinalizerDeleteDependents
	})
	if err := failure.Join(errs...); err != nil || isHeld {
		return d, err
	}
	return r.setFinalizer(ctx, d, controllerutil.RemoveFinalizer, "REMOVED")
}

// setFinalizer changes the list of finalizers and nothing else, and returns the new object.
func (r *reconciler) setFinalizer(
	ctx context.Context,
	d *dbv1alpha1.DatabaseManager,
	change func(client.Object, string) bool,
	word string,
) (*dbv1alpha1.DatabaseManager, error) {
	changed := d.DeepCopy() // the store's object must not be changed
	if !change(changed, finalizer) {
		return d, nil
	}
	// Without the lock, the patch would be a list without a resourceVersion: it would undo what others have changed meanwhile.
	err := r.Patch(ctx, changed, client.MergeFromWithOptions(d, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) {
		return d, fmt.Errorf("DatabaseManager %s is deleted: %w", d.Name, consistency.ErrStale)
	}
	if err != nil {
		return d, fmt.Errorf("patching the finalizers: %w", err)
	}
	r.out.Line(word, "finalizer %s of DatabaseManager %s/%s", finalizer, d.Namespace, d.Name)
	return changed, nil
}

// belongsTo reports whether an object is a child of d.
func belongsTo(existing metav1.Object, d *dbv1alpha1.DatabaseManager) bool {
	if owner := metav1.GetControllerOfNoCopy(existing); owner != nil {
		return owner.UID == d.UID
	}
	return existing.GetLabels()[database.FirstOwnerLabel] == database.FirstOwner(d)
}

// mustWaitForSibling reports whether another DatabaseManager, as old as d or older, has the same children. It reads from the cache
// itself: a List that waits for the own writes waits for those to all DatabaseManagers.
func (r *reconciler) mustWaitForSibling(ctx context.Context, d *dbv1alpha1.DatabaseManager) bool {
	var siblings dbv1alpha1.DatabaseManagerList
	fields := client.MatchingFields{byDeploymentName: d.Spec.DeploymentName}
	if err := r.cache.List(ctx, &siblings, client.InNamespace(d.Namespace), fields); err != nil {
		return true // the program ends
	}
	return slices.ContainsFunc(siblings.Items, func(s dbv1alpha1.DatabaseManager) bool {
		return s.UID != d.UID && database.FirstOwner(&s) == database.FirstOwner(d) && !d.CreationTimestamp.Before(&s.CreationTimestamp)
	})
}

// nameTaken returns the error for an object that has a child's name, and does not belong to d.
func nameTaken(d *dbv1alpha1.DatabaseManager, kind string, existing client.Object) error {
	owner := metav1.GetControllerOfNoCopy(existing)
	if owner == nil || owner.Kind != "DatabaseManager" || owner.Name != d.Name {
		advice := "delete it, or create a DatabaseManager with another deploymentName"
		if first := existing.GetLabels()[database.FirstOwnerLabel]; owner == nil && first != "" {
			advice += ", or with adoptFrom: " + first
		}
		return failure.Blocked{Reason: reasonNameConflict, Message: fmt.Sprintf(
			"%s %s already exists and does not belong to this DatabaseManager: %s", kind, existing.GetName(), advice)}
	}
	text := fmt.Sprintf("waiting until %s %s of an earlier DatabaseManager is deleted", kind, existing.GetName())
	if finalizers := existing.GetFinalizers(); len(finalizers) > 0 {
		text += "; its finalizers: " + strings.Join(finalizers, ", ")
	}
	return failure.Blocked{Reason: reasonWaitingForDeletion, Message: text, Ends: true}
}

// applyStatus writes the status if it has changed, and an event if the database became ready or is no longer ready.
func (r *reconciler) applyStatus(ctx context.Context, d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment, syncErr error) error {
	var pods corev1.PodList
	fields := client.MatchingFields{byFirstOwner: database.FirstOwner(d)}
	if err := r.cache.List(ctx, &pods, client.InNamespace(d.Namespace), fields); err != nil {
		return err
	}
	changed := d.DeepCopy()
	changed.Status = statusOf(d, deployment, pods.Items, syncErr)
	if apiequality.Semantic.DeepEqual(changed.Status, d.Status) {
		return nil
	}
	ready := apimeta.FindStatusCondition(changed.Status.Conditions, dbv1alpha1.ConditionReady)
	err := r.Status().Update(ctx, changed) // with the resourceVersion, as chapter 6
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

// statusOf returns the status.
func statusOf(
	d *dbv1alpha1.DatabaseManager,
	deployment *appsv1.Deployment,
	pods []corev1.Pod,
	syncErr error,
) dbv1alpha1.DatabaseManagerStatus {
	status := *d.Status.DeepCopy()
	if !failure.IsUnowned(syncErr) {
		status.ObservedGeneration = d.Generation
	}
	status.Selector = labels.FormatLabels(database.Selector(d))
	status.AvailableReplicas = 0
	ready := metav1.Condition{Status: metav1.ConditionFalse, Reason: "Deleted", Message: "the Deployment is deleted"}
	progressing := ready
	if deployment != nil {
		var theirs []*corev1.Pod
		for i := range pods {
			theirs = append(theirs, &pods[i])
		}
		status.AvailableReplicas = deployment.Status.AvailableReplicas
		ready, progressing = rollout.Conditions(deployment, database.Replicas(d), rollout.CauseOf(theirs...))
	}
	if syncErr != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, failure.ReasonOf(syncErr), rollout.Message(syncErr.Error())
		progressing = ready
	}
	ready.Type, progressing.Type = dbv1alpha1.ConditionReady, dbv1alpha1.ConditionProgressing
	ready.ObservedGeneration, progressing.ObservedGeneration = d.Generation, d.Generation
	apimeta.SetStatusCondition(&status.Conditions, ready)
	apimeta.SetStatusCondition(&status.Conditions, progressing)
	return status
}

// The reasons of the condition Ready besides the reasons in internal/controller/rollout and internal/controller/failure.
const (
	reasonNameConflict       = "NameConflict"
	reasonWaitingForDeletion = "WaitingForDeletion"
	reasonLabelChanged       = "LabelChanged"
	reasonOrphaned           = "Orphaned"
)
