package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// WriteStatus changes the object that it was given.
func WriteStatus(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager, available int32) error {
	if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == available {
		return nil
	}
	d.Status.ObservedGeneration = d.Generation
	d.Status.AvailableReplicas = available
	_, err := databases.UpdateStatus(ctx, d, metav1.UpdateOptions{})
	return err
}
