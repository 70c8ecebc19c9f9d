// next.go: whose an object is that has a child's name, and what to do with it.

package database

import (
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// Step is what to do with the object that has a child's name.
type Step string

const (
	NameTaken       Step = "NameTaken"       // it is somebody else's: it stays as it is
	WaitForDeletion Step = "WaitForDeletion" // an earlier DatabaseManager of this name controls it: the garbage collector deletes it
	AddOwner        Step = "AddOwner"        // it is d's, and lacks the owner reference that the spec wants
	RemoveOwner     Step = "RemoveOwner"     // it is d's, and has an owner reference that the spec does not want
	Orphaned        Step = "Orphaned"        // it has lost its owner reference, and d is being deleted: it outlives d
	BeingDeleted    Step = "BeingDeleted"    // it is d's, and is being deleted: a finalizer holds it
	Update          Step = "Update"          // it is d's: the fields that differ are written
)

// Next returns the step for the object that has a child's name. TestNext has the cases. If there is no such object, it is created.
//
// The owner reference comes before the other fields, and AddOwner and RemoveOwner write nothing else: else the server could reject a field,
// such as a size that the volume cannot have, and with it the change of the reference.
func Next(d *dbv1alpha1.DatabaseManager, existing metav1.Object) Step {
	owner := metav1.GetControllerOfNoCopy(existing)
	if !BelongsTo(existing, d) {
		if owner != nil && owner.Kind == "DatabaseManager" && owner.Name == d.Name {
			return WaitForDeletion
		}
		return NameTaken
	}
	wants := OwnerReferences(d)
	switch {
	case apiequality.Semantic.DeepEqual(ownersOf(existing, d), wants):
	case len(wants) == 0:
		return RemoveOwner
	case owner == nil && d.DeletionTimestamp != nil && !HasFinalizer(d):
		return Orphaned // the garbage collector may have removed it, after `kubectl delete --cascade=orphan`
	default:
		return AddOwner
	}
	return NextOwned(existing)
}

// NextOwned returns the step for a child of d whose owner reference is as the spec wants it. After RemoveOwner, nothing but its label says
// whose it is, and somebody may have changed that.
func NextOwned(existing metav1.Object) Step {
	if existing.GetDeletionTimestamp() != nil {
		return BeingDeleted
	}
	return Update
}

// BelongsTo reports whether an object is a child of d. It still is if its owner reference was removed, by a user or for Retain, but not
// if it has another owner now.
func BelongsTo(existing metav1.Object, d *dbv1alpha1.DatabaseManager) bool {
	if owner := metav1.GetControllerOfNoCopy(existing); owner != nil {
		return owner.UID == d.UID // not the name, which an earlier DatabaseManager can have had
	}
	return existing.GetLabels()[FirstOwnerLabel] == FirstOwner(d)
}

// ownersOf returns the owner references of existing that refer to d.
func ownersOf(existing metav1.Object, d *dbv1alpha1.DatabaseManager) (owners []metav1.OwnerReference) {
	for _, owner := range existing.GetOwnerReferences() {
		if owner.UID == d.UID {
			owners = append(owners, owner)
		}
	}
	return owners
}

// IsCurrent reports whether the server's object is d as the store has it.
func IsCurrent(d, server *dbv1alpha1.DatabaseManager) bool {
	return server.UID == d.UID && server.Generation == d.Generation &&
		server.DeletionTimestamp.Equal(d.DeletionTimestamp) && slices.Equal(server.Finalizers, d.Finalizers)
}
