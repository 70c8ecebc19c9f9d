package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// WriteStatus writes at each sync.
func WriteStatus(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager, available int32) error {
	changed := d.DeepCopy()
	changed.Status.ObservedGeneration = d.Generation
	changed.Status.AvailableReplicas = available
	_, err := databases.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}
