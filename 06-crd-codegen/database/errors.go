// errors.go: why a child is not as the spec asks for.

package database

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/failure"
)

// The reasons of the condition Ready for a child that cannot be as the spec wants it until somebody else acts.
const (
	ReasonNameConflict       = "NameConflict"
	ReasonWaitingForDeletion = "WaitingForDeletion"
	ReasonBeingDeleted       = "BeingDeleted"
	ReasonCannotAdopt        = "CannotAdopt"
	ReasonOrphaned           = "Orphaned"
	ReasonLabelChanged       = "LabelChanged"
	ReasonUndone             = "Undone"
)

// Blocked returns the error for an object that has the name of d's child, and with which d can do nothing until somebody else acts; or
// nil for other steps.
func (s Step) Blocked(d *dbv1alpha1.DatabaseManager, kind string, existing metav1.Object) error {
	name := kind + " " + existing.GetName()
	switch s {
	case NameTaken:
		message := name + " already exists and does not belong to this DatabaseManager: delete it, or create a DatabaseManager with " +
			"another deploymentName"
		if first := existing.GetLabels()[FirstOwnerLabel]; first != "" && metav1.GetControllerOfNoCopy(existing) == nil {
			message += ", or with adoptFrom: " + first
		}
		return failure.Blocked{Reason: ReasonNameConflict, Message: message}
	case WaitForDeletion:
		return failure.Blocked{Reason: ReasonWaitingForDeletion, Ends: true,
			Message: "waiting until " + name + " of an earlier DatabaseManager is deleted" + finalizersOf(existing)}
	case BeingDeleted: // a claim, say, until no pod uses it
		message := name + " is being deleted" + finalizersOf(existing)
		if Retains(d) && d.DeletionTimestamp != nil {
			message += "; deletionPolicy Retain cannot keep it: set Delete to end the wait"
		}
		return failure.Blocked{Reason: ReasonBeingDeleted, Ends: true, Message: message}
	case Orphaned:
		return failure.Blocked{Reason: ReasonOrphaned, Message: name + " has no owner reference any more, and stays: delete it yourself"}
	}
	return nil
}

func finalizersOf(existing metav1.Object) string {
	if finalizers := existing.GetFinalizers(); len(finalizers) > 0 {
		return "; its finalizers: " + strings.Join(finalizers, ", ")
	}
	return ""
}

// LabelChanged returns the error for a child that was written, and came back without the label by which the informers select, or nil.
// Such a child never comes into the store, and no event reports its changes.
func LabelChanged(kind string, written metav1.Object) error {
	if written.GetLabels()[ManagedByLabel] == FieldManager {
		return nil
	}
	return failure.Blocked{Reason: ReasonLabelChanged, Message: fmt.Sprintf("an admission policy or webhook has changed "+
		"the label %s of %s %s: exempt the controller's objects from it", ManagedByLabel, kind, written.GetName())}
}

// Undone returns the error for a child that somebody changes back each time, in this field. It can end soon: the same change can also come
// twice by chance.
func Undone(kind string, existing metav1.Object, field string, ends bool) error {
	return failure.Blocked{Reason: ReasonUndone, Ends: ends, Message: fmt.Sprintf("%s %s is not as asked for: somebody changes %s back "+
		"each time, an admission policy, a webhook or another controller", kind, existing.GetName(), field)}
}
