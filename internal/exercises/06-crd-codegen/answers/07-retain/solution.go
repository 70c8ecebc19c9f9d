// Package exercise answers "Retain on delete". README.md has the task.
package exercise

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

const (
	finalizer     = "coolops.cn/retain"
	databaseLabel = "coolops.cn/databasemanager" // of a child: its owner's UID
)

// Release lets the children of d outlive it: d is being deleted, and has the finalizer.
func Release(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	secrets typedcorev1.SecretInterface,
	d *dbv1alpha1.DatabaseManager,
) error {
	children, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: databaseLabel + "=" + string(d.UID)})
	if err != nil {
		return fmt.Errorf("listing the children: %w", err)
	}
	var errs []error
	for _, child := range children.Items { // all of them, even if one fails
		before := len(child.OwnerReferences)
		child.OwnerReferences = slices.DeleteFunc(child.OwnerReferences,
			func(owner metav1.OwnerReference) bool { return owner.UID == d.UID })
		if len(child.OwnerReferences) == before {
			continue // done by an earlier call
		}
		// The Secret has the resourceVersion of the list: if anybody has changed it since, this is a conflict, and the change stays.
		_, err := secrets.Update(ctx, &child, metav1.UpdateOptions{})
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err // with the finalizer: d stays, and the next call goes on from here
	}
	// Last of all: d can be gone a moment later.
	changed := d.DeepCopy()
	changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(name string) bool { return name == finalizer })
	_, err = databases.Update(ctx, changed, metav1.UpdateOptions{})
	return err
}
