// apply.go: server-side apply of one child, which sends nothing if nothing differs.
// Before: database/database.go. Next: ownership.go.

package main

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/ssa"
)

// apply brings a child in line with its desired state, its owner reference first, and returns it, or nil if there is none. It
// creates the child only if canCreate.
//
// It sends nothing if the fields that the API server has recorded as this controller's are the desired fields, no more
// and no less, and have the desired values. If somebody else changes such a field, the field becomes theirs, so the
// change is noticed here and undone. Fields that the controller never sets are not compared: others are allowed to set
// them.
func (k typedKind[O, A]) apply(ctx context.Context, d *dbv1alpha1.DatabaseManager, canCreate bool, ask asker) (metav1.Object, error) {
	var none A
	client, name := k.clientIn(d.Namespace), d.Spec.DeploymentName+k.suffix
	stored, _, err := k.informer.GetStore().GetByKey(d.Namespace + "/" + name)
	if err != nil {
		return nil, err
	}
	existing, exists := stored.(O)
	desired := k.desired(d, existing)
	if desired == none || !canCreate && (!exists || !belongsTo(existing, d)) {
		return nil, nil
	}
	if !exists {
		// The first children of a new DatabaseManager have it as their owner. If it is gone already, the garbage collector
		// deletes them. Children without an owner, or that are gone again: ask the server first.
		isFirst := d.Status.ObservedGeneration == 0 && k.controller.queue.NumStale(cache.MetaObjectToName(d)) == 0
		if !isFirst || len(database.OwnerReferences(d)) == 0 {
			if err := ask(); err != nil {
				return nil, err
			}
		}
		// The store may lack the object: it is new, or has no label of ours. A plain apply would change it. No object has a
		// resourceVersion so old, so this apply can only create.
		created, createErr := client.Apply(ctx, ssa.WithOwners(desired, database.OwnerReferences(d)).WithResourceVersion("1"), applyOptions)
		if createErr == nil {
			return created, k.wrote(d, created, "CREATED")
		}
		existing, err = client.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) && !apierrors.IsConflict(createErr):
			return nil, fmt.Errorf("creating %s %s: %w", k.kind, name, createErr)
		case apierrors.IsNotFound(err):
			return nil, fmt.Errorf("reading %s %s: %w", k.kind, name, err)
		case err != nil:
			return nil, failure.Unowned{Err: fmt.Errorf("reading %s %s: %w", k.kind, name, err)}
		}
		desired = k.desired(d, existing)
	}
	if !belongsTo(existing, d) {
		return nil, k.nameTaken(d, existing)
	}
	if existing, err = k.setOwner(ctx, d, existing, ask); err != nil {
		return existing, err
	}
	owned := ssa.Owned(existing, k.extract, database.FieldManager)
	if apiequality.Semantic.DeepEqual(owned, desired) {
		return existing, nil
	}
	if err := ask(); err != nil {
		return existing, err
	}
	desired = ssa.WithOwners(desired, database.OwnerReferences(d))
	applied, err := ssa.Apply(ctx, client, existing, owned, desired, k.canReplace, applyOptions)
	if err != nil {
		return existing, fmt.Errorf("updating %s %s: %w", k.kind, name, err)
	}
	return applied, k.wrote(d, applied, "UPDATED")
}

// applyOptions takes back the fields that others have changed.
var applyOptions = metav1.ApplyOptions{FieldManager: database.FieldManager, Force: true}

// wrote reports that a child was written.
func (k typedKind[O, A]) wrote(d *dbv1alpha1.DatabaseManager, child O, word string) error {
	k.controller.out.Line(word, "%s %s/%s for DatabaseManager %s", k.kind, child.GetNamespace(), child.GetName(), d.Name)
	if child.GetLabels()[database.ManagedByLabel] != database.FieldManager {
		// The informer selects by this label, so the child never comes into the store, and no event reports its changes.
		return failure.Blocked{Reason: reasonLabelChanged, Message: fmt.Sprintf("an admission policy or webhook has changed "+
			"the label %s of %s %s: exempt the controller's objects from it", database.ManagedByLabel, k.kind, child.GetName())}
	}
	k.controller.consistency.WroteAt(cache.MetaObjectToName(d), k.kind, k.informer.GetStore(), child.GetResourceVersion())
	return nil
}
