package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// client is what apply needs of a clientset's client for objects O with apply configurations A.
type client[O, A any] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
	Apply(ctx context.Context, want A, options metav1.ApplyOptions) (O, error)
}

// lister is what it needs of a lister.
type lister[O any] interface {
	Get(name string) (O, error)
}

// object is a pointer to an API object.
type object interface {
	metav1.Object
	comparable
}

// applyConfiguration is an apply configuration A: an object of which only the fields are set that somebody wants.
type applyConfiguration[A any] interface {
	WithUID(types.UID) A
	WithResourceVersion(string) A
}

// kind has what differs from one kind of children to the next.
type kind[O object, A applyConfiguration[A]] struct {
	name    string
	lister  lister[O]
	client  client[O, A]
	extract func(have O, manager string) (A, error) // the fields of have that the manager has set
}

// apply brings a child in line with what is wanted, and returns it. What is wanted may depend on what there is.
//
// It sends nothing if the fields that the API server knows as ours are the wanted ones, no more and no less, and have
// the wanted values. Whoever changes one of them takes it over, so that change is seen here and undone. Fields that
// we never set are not looked at: they are others' to set.
func (k kind[O, A]) apply(ctx context.Context, c *Controller, d *dbv1alpha1.DatabaseManager, name string, want func(have O) A) (O, error) {
	var none O
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true} // our fields are ours, whoever has changed them

	have, err := k.lister.Get(name)
	if apierrors.IsNotFound(err) {
		// Apply would also write onto an object that our store doesn't have: one that is too new, or without our label
		// because it's somebody else's. No object has a version so old, so this can only create.
		have, err = k.client.Apply(ctx, want(none).WithResourceVersion("1"), options)
		if err == nil {
			c.wrote(d, k.name, have, "CREATED")
			return have, nil
		}
		if !apierrors.IsConflict(err) {
			return none, fmt.Errorf("creating %s %s: %w", k.name, name, err)
		}
		have, err = k.client.Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return none, fmt.Errorf("reading %s %s: %w", k.name, name, err)
	}
	if !belongsTo(have, d) {
		if owner := metav1.GetControllerOfNoCopy(have); owner != nil && owner.Kind == "DatabaseManager" && owner.Name == d.Name {
			return none, fmt.Errorf("%s %s is still that of an earlier DatabaseManager: %w", k.name, name, errStale)
		}
		return none, nameConflict{kind: k.name, name: name}
	}
	owned, err := k.extract(have, fieldManager)
	if err != nil {
		return none, fmt.Errorf("reading the owned fields of %s %s: %w", k.name, name, err)
	}
	if equality.Semantic.DeepEqual(owned, want(have)) {
		return have, nil
	}
	// With the UID: not onto another object that has got this name in the meantime.
	made, err := k.client.Apply(ctx, want(have).WithUID(have.GetUID()), options)
	if err != nil {
		return none, fmt.Errorf("updating %s %s: %w", k.name, name, err)
	}
	c.wrote(d, k.name, made, "APPLIED")
	return made, nil
}

// belongsTo tells whether an object is a child of d. If somebody has removed the owner reference it still is, but
// not if they have put another in its place.
func belongsTo(have metav1.Object, d *dbv1alpha1.DatabaseManager) bool {
	if owner := metav1.GetControllerOfNoCopy(have); owner != nil {
		return owner.UID == d.UID // not the name, which could be that of an earlier DatabaseManager
	}
	return have.GetLabels()[databaseLabel] == string(d.UID)
}

// errStale means that what was seen is on its way out. A later look finds it better.
var errStale = errors.New("seen too early")

// nameConflict is the error when a child's name is taken.
type nameConflict struct{ kind, name string }

func (e nameConflict) Error() string {
	return fmt.Sprintf("there is a %s %s that belongs to somebody else: delete it, or make a new DatabaseManager with another deploymentName", e.kind, e.name)
}
