package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// WriteStatus reads the object again, so that there is no conflict.
func WriteStatus(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager, available int32) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		fresh, err := databases.Get(ctx, d.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if fresh.Status.ObservedGeneration == fresh.Generation && fresh.Status.AvailableReplicas == available {
			return nil
		}
		fresh.Status.ObservedGeneration = fresh.Generation
		fresh.Status.AvailableReplicas = available
		_, err = databases.UpdateStatus(ctx, fresh, metav1.UpdateOptions{})
		return err
	})
}
