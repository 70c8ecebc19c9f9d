// finalizer.go: when a DatabaseManager has this controller's finalizer.

package database

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// Finalizer keeps a deleted DatabaseManager until its deletionPolicy is applied to the children: with Retain they have no
// owner reference, and the garbage collector leaves them alone. A DatabaseManager has it only with Retain, and after a change
// to Delete until every child has its reference back. In all other cases the garbage collector does the work without it.
const Finalizer = "coolops.cn/retain"

// HasFinalizer reports whether d has the finalizer.
func HasFinalizer(d *dbv1alpha1.DatabaseManager) bool {
	return slices.Contains(d.Finalizers, Finalizer)
}

// WithFinalizer returns the finalizers of d, with or without this one. Others' stay.
func WithFinalizer(d *dbv1alpha1.DatabaseManager, wants bool) []string {
	others := slices.DeleteFunc(slices.Clone(d.Finalizers), func(name string) bool { return name == Finalizer })
	if wants {
		return append(others, Finalizer)
	}
	return others
}

// Retains reports whether the children of d outlive it, and d needs the finalizer.
func Retains(d *dbv1alpha1.DatabaseManager) bool {
	return d.Spec.DeletionPolicy == dbv1alpha1.DeletionPolicyRetain
}

// FinalizerGoes reports whether d has the finalizer, and does not need it any more: it is removed once each child has its owner reference.
func FinalizerGoes(d *dbv1alpha1.DatabaseManager) bool { return HasFinalizer(d) && !Retains(d) }

// IsReleased reports whether the children of d, which is being deleted, are as its deletionPolicy says, or the garbage collector makes them
// so. A deletion raises the generation, so the status before it is not enough.
func IsReleased(d *dbv1alpha1.DatabaseManager) bool {
	ownersAreRight := d.Status.ObservedGeneration == d.Generation
	return !HasFinalizer(d) && (ownersAreRight || slices.Contains(d.Finalizers, metav1.FinalizerOrphanDependents))
}

// IsHeldByOthers reports whether finalizers of others hold d. Meanwhile its deletionPolicy can change.
func IsHeldByOthers(d *dbv1alpha1.DatabaseManager) bool {
	return slices.ContainsFunc(d.Finalizers, func(name string) bool {
		return name != Finalizer && name != metav1.FinalizerOrphanDependents && name != metav1.FinalizerDeleteDependents
	})
}
