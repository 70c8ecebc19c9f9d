// Package exercise answers "Status and observedGeneration". README.md has the task.
package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// WriteStatus writes observedGeneration and availableReplicas into the status of d, which is an object of a store.
func WriteStatus(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager, available int32) error {
	if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == available {
		return nil // a write would be an event, and the event another sync
	}
	changed := d.DeepCopy() // the store's object must not be changed
	// The generation of the object that the sync has read, not of a newer one.
	changed.Status.ObservedGeneration = d.Generation
	changed.Status.AvailableReplicas = available
	// Update would drop the status without an error. And it has d's resourceVersion: a conflict if anything has changed.
	_, err := databases.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}
