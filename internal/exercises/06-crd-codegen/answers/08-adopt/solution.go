// Package exercise answers "Adoption on purpose". README.md has the task.
package exercise

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

const adoptAnnotation = "coolops.cn/adopt" // of a Secret: the DatabaseManager that is allowed to adopt it

// Kind is the kind of d, for metav1.NewControllerRef.
var Kind = schema.GroupVersionKind{Group: dbv1alpha1.GroupName, Version: "v1alpha1", Kind: "DatabaseManager"}

// Adopt makes d, which is from a store, the controller of the Secret with that name, if the user has asked for it.
func Adopt(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	secrets typedcorev1.SecretInterface,
	d *dbv1alpha1.DatabaseManager,
	name string,
) error {
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if metav1.IsControlledBy(secret, d) { // it compares the UIDs
		return nil
	}
	if owner := metav1.GetControllerOf(secret); owner != nil {
		return fmt.Errorf("the Secret %s belongs to %s %s", name, owner.Kind, owner.Name)
	}
	if secret.Annotations[adoptAnnotation] != d.Name {
		return fmt.Errorf("the Secret %s has no annotation %s: %s", name, adoptAnnotation, d.Name)
	}
	// An owner that is gone, or going, would take the Secret with it.
	fresh, err := databases.Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if fresh.UID != d.UID || fresh.DeletionTimestamp != nil {
		return fmt.Errorf("the DatabaseManager %s is deleted", d.Name)
	}
	secret.OwnerReferences = append(secret.OwnerReferences, *metav1.NewControllerRef(d, Kind))
	// The Secret has the resourceVersion that was read: if the user has removed the annotation since, this is a conflict.
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}
