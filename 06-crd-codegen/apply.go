// apply.go: server-side apply of one child, which sends nothing if nothing differs.
// Before: child.go. Next: status.go.

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/consistency"
	"example.com/client-go-workbook/internal/ssa"
)

// apply brings a child in line with its desired state, and returns it, or nil if none is desired.
func (k childKind[O, A]) apply(ctx context.Context, d *dbv1alpha1.DatabaseManager) (metav1.Object, error) {
	var existing O
	var none A
	client, name := k.clientIn(d.Namespace), d.Spec.DeploymentName+k.suffix
	stored, exists, err := k.informer.GetStore().GetByKey(d.Namespace + "/" + name)
	if err != nil {
		return nil, err
	}
	if exists {
		existing = stored.(O)
	}
	desired := k.desired(d, existing)
	if desired == none {
		return nil, nil
	}
	if !exists {
		// An apply would also change an object that this store does not have: a new one, or another user's, without our label.
		// No object has a resourceVersion so old, so this apply can only create.
		created, err := client.Apply(ctx, desired.WithResourceVersion("1"), applyOptions)
		if err == nil {
			return created, k.wrote(d, created, "CREATED")
		}
		if !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("creating %s %s: %w", k.kind, name, err)
		}
		existing, err = client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("reading %s %s: %w", k.kind, name, err)
		}
		desired = k.desired(d, existing)
	}
	if !belongsTo(existing, d) {
		return nil, k.nameTaken(d, existing)
	}
	return k.update(ctx, d, existing, desired, "APPLIED")
}

// update applies the desired state to a child, and returns the new object.
//
// It sends nothing if the fields that the API server has recorded as this controller's are the desired fields, no more
// and no less, and have the desired values. If somebody else changes such a field, the field becomes theirs, so the
// change is noticed here and undone. Fields that the controller never sets are not compared: others are allowed to set
// them.
func (k childKind[O, A]) update(
	ctx context.Context,
	d *dbv1alpha1.DatabaseManager,
	existing O,
	desired A,
	word string,
) (metav1.Object, error) {
	owned, err := k.extract(existing, fieldManager)
	if err != nil {
		return nil, fmt.Errorf("reading the owned fields of %s %s: %w", k.kind, existing.GetName(), err)
	}
	if apiequality.Semantic.DeepEqual(owned, desired) {
		return existing, nil
	}
	if len(ownersOf(d)) > 0 && !metav1.IsControlledBy(existing, d) {
		if err := k.controller.canAdopt(ctx, d); err != nil {
			return nil, err
		}
	}
	applied, err := ssa.Apply(ctx, k.clientIn(d.Namespace), existing, owned, desired, k.canReplace, applyOptions)
	if err != nil {
		return nil, fmt.Errorf("updating %s %s: %w", k.kind, existing.GetName(), err)
	}
	return applied, k.wrote(d, applied, word)
}

// applyOptions takes back the fields that others have changed.
var applyOptions = metav1.ApplyOptions{FieldManager: fieldManager, Force: true}

// canAdopt returns nil if an existing child is allowed to get an owner reference to d.
//
// A child without one may have lost it to the garbage collector, which removes it from all children after `kubectl delete
// --cascade=orphan`. If the controller added it again, the child would be deleted with its owner. The store may be too
// old to show that the owner is being deleted, so this asks the server.
func (c *Controller) canAdopt(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	fresh, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading DatabaseManager %s: %w", d.Name, err)
	}
	if err != nil || fresh.UID != d.UID || fresh.Generation != d.Generation || !fresh.DeletionTimestamp.Equal(d.DeletionTimestamp) {
		return fmt.Errorf("DatabaseManager %s has changed: %w", d.Name, consistency.ErrStale)
	}
	return nil
}

// hasOlderSibling reports whether there is another DatabaseManager for the same children, which is not younger than d: their
// first owner, or one that has adopted them. With Retain they have no owner references, which would keep the two apart.
func (c *Controller) hasOlderSibling(d *dbv1alpha1.DatabaseManager) bool {
	return slices.ContainsFunc(c.by(deploymentNameIndex, d.Namespace+"/"+d.Spec.DeploymentName), func(s *dbv1alpha1.DatabaseManager) bool {
		return s.UID != d.UID && firstOwner(s) == firstOwner(d) && !d.CreationTimestamp.Before(&s.CreationTimestamp)
	})
}

// belongsTo reports whether an object is a child of d. It still is if its owner reference was removed, but not if it has
// another owner now.
func belongsTo(existing metav1.Object, d *dbv1alpha1.DatabaseManager) bool {
	if owner := metav1.GetControllerOfNoCopy(existing); owner != nil {
		return owner.UID == d.UID // not the name, which an earlier DatabaseManager can have had
	}
	return existing.GetLabels()[databaseLabel] == firstOwner(d)
}

// wrote reports that a child was written.
func (k childKind[O, A]) wrote(d *dbv1alpha1.DatabaseManager, child O, word string) error {
	k.controller.out.Line(word, "%s %s/%s for DatabaseManager %s", k.kind, child.GetNamespace(), child.GetName(), d.Name)
	if child.GetLabels()[managedByLabel] != fieldManager {
		// The informer selects by this label, so the child never comes into the store, and no event reports its changes.
		return childError{reasonLabelChanged, fmt.Sprintf("an admission policy or webhook has changed the label %s of %s %s: "+
			"exempt the controller's objects from it", managedByLabel, k.kind, child.GetName())}
	}
	k.controller.consistency.WroteAt(cache.MetaObjectToName(d), k.informer.GetStore(), child.GetResourceVersion())
	return nil
}

// nameTaken returns the error for an object that has a child's name, and does not belong to d.
func (k childKind[O, A]) nameTaken(d *dbv1alpha1.DatabaseManager, existing O) error {
	owner := metav1.GetControllerOfNoCopy(existing)
	if owner == nil || owner.Kind != "DatabaseManager" || owner.Name != d.Name {
		advice := "delete it, or create a DatabaseManager with another deploymentName"
		if first := existing.GetLabels()[databaseLabel]; owner == nil && first != "" {
			advice += ", or with adoptFrom: " + first
		}
		return childError{reasonNameConflict, fmt.Sprintf("%s %s already exists and does not belong to this DatabaseManager: %s",
			k.kind, existing.GetName(), advice)}
	}
	text := fmt.Sprintf("waiting until %s %s of an earlier DatabaseManager is deleted", k.kind, existing.GetName())
	if finalizers := existing.GetFinalizers(); len(finalizers) > 0 {
		text += "; its finalizers: " + strings.Join(finalizers, ", ")
	}
	return childError{reasonWaitingForDeletion, text}
}

// childError is an error that lasts until somebody else acts. The condition that reports it has this reason.
type childError struct{ reason, message string }

func (e childError) Error() string { return e.message }
