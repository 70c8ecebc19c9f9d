// ownership.go: whose an object is that has a child's name, and whether its owner reference is as the spec wants it.
// Before: apply.go. Next: status.go.

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/ssa"
)

// setOwner brings the owner reference of an object in line with database.OwnerReferences, and returns the new object. These are all
// outcomes for an object that has a child's name:
//
//	whose it is                                    what becomes of it
//	there is none                                  it is created, with the owner reference that the spec wants
//	controlled by d                                it is d's
//	no controller, and the label of d's children   it is d's: a user, or Retain, has removed the reference
//	and an older DatabaseManager has it, too       d waits until that one is gone (NameConflict)
//	an earlier d of this name controls it          d waits until it is deleted (WaitingForDeletion)
//	anything else                                  it stays as it is (NameConflict)
//
//	of those that are d's                          what becomes of the reference
//	it is as the spec wants it                     nothing
//	the spec wants it (Delete), it has none        d adopts the object: ADOPTED
//	the spec wants none (Retain), it has one       d releases the object: RELEASED
//	the server's d is not the store's              nothing, until the store has the server's (ErrStale)
//
// The reference is a promise of its own: it is all that this writes, so no other field can keep the server from accepting it.
// An error is a failure.Unowned. Then the status does not say that the spec has been processed.
func (k typedKind[O, A]) setOwner(ctx context.Context, d *dbv1alpha1.DatabaseManager, existing O, ask asker) (O, error) {
	wants := database.OwnerReferences(d)
	if apiequality.Semantic.DeepEqual(ssa.OwnersOf(existing, d.UID), wants) {
		return existing, nil
	}
	owned, err := existing, ask()
	if err == nil {
		owned, err = ssa.SetOwners(ctx, k.clientIn(d.Namespace), existing, d.UID, wants, database.FieldManager)
	}
	if apierrors.IsNotFound(err) {
		err = consistency.ErrStale // it is deleted
	}
	if err != nil {
		err = fmt.Errorf("deletionPolicy %s has not reached %s %s yet: %w", d.Spec.DeletionPolicy, k.kind, existing.GetName(), err)
		return existing, failure.Unowned{Err: err}
	}
	_ = k.wrote(d, owned, map[bool]string{true: "ADOPTED", false: "RELEASED"}[len(wants) > 0]) // the label is not its concern
	return owned, nil
}

// asker returns nil if the server has the DatabaseManager as the store has it.
//
// A store can be behind, with a watch that hangs for minutes. By what it says, the controller would add a reference that the
// garbage collector has removed after `kubectl delete --cascade=orphan`, and the child would be deleted with its owner; or
// remove one, or create a child without one, for an owner that is gone; or undo a change of the spec.
//
// It asks at each call, and setOwner calls it when it has read the child. An earlier answer could be older than the deletion by
// which the child has lost its reference.
type asker func() error

// askerOf returns the asker of a DatabaseManager.
func (c *Controller) askerOf(ctx context.Context, d *dbv1alpha1.DatabaseManager) asker {
	return func() error {
		fresh, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return failure.Unowned{Err: fmt.Errorf("reading DatabaseManager %s: %w", d.Name, err)}
		}
		if err != nil || fresh.UID != d.UID || fresh.Generation != d.Generation ||
			!fresh.DeletionTimestamp.Equal(d.DeletionTimestamp) || !slices.Equal(fresh.Finalizers, d.Finalizers) {
			return fmt.Errorf("DatabaseManager %s has changed: %w", d.Name, consistency.ErrStale)
		}
		return nil
	}
}

// belongsTo reports whether an object is a child of d. It still is if its owner reference was removed, but not if it has
// another owner now.
func belongsTo(existing metav1.Object, d *dbv1alpha1.DatabaseManager) bool {
	if owner := metav1.GetControllerOfNoCopy(existing); owner != nil {
		return owner.UID == d.UID // not the name, which an earlier DatabaseManager can have had
	}
	return existing.GetLabels()[database.FirstOwnerLabel] == database.FirstOwner(d)
}

// mustWaitForSibling reports whether another DatabaseManager, as old as d or older, has the same children: their first owner,
// or one that has adopted them. With Retain they have no owner references, which would keep the two apart.
func (c *Controller) mustWaitForSibling(d *dbv1alpha1.DatabaseManager) bool {
	siblings := c.databasesBy(deploymentNameIndex, d.Namespace+"/"+d.Spec.DeploymentName)
	return slices.ContainsFunc(siblings, func(s *dbv1alpha1.DatabaseManager) bool {
		return s.UID != d.UID && database.FirstOwner(s) == database.FirstOwner(d) && !d.CreationTimestamp.Before(&s.CreationTimestamp)
	})
}

// nameTaken returns the error for an object that has a child's name, and does not belong to d.
func (k typedKind[O, A]) nameTaken(d *dbv1alpha1.DatabaseManager, existing O) error {
	owner := metav1.GetControllerOfNoCopy(existing)
	if owner == nil || owner.Kind != "DatabaseManager" || owner.Name != d.Name {
		advice := "delete it, or create a DatabaseManager with another deploymentName"
		if first := existing.GetLabels()[database.FirstOwnerLabel]; owner == nil && first != "" {
			advice += ", or with adoptFrom: " + first
		}
		return failure.Blocked{Reason: reasonNameConflict, Message: fmt.Sprintf(
			"%s %s already exists and does not belong to this DatabaseManager: %s", k.kind, existing.GetName(), advice)}
	}
	text := fmt.Sprintf("waiting until %s %s of an earlier DatabaseManager is deleted", k.kind, existing.GetName())
	if finalizers := existing.GetFinalizers(); len(finalizers) > 0 {
		text += "; its finalizers: " + strings.Join(finalizers, ", ")
	}
	return failure.Blocked{Reason: reasonWaitingForDeletion, Message: text, Ends: true}
}
