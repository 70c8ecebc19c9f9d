package exercise

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// SendsTheTwoFieldsOnly sends the two fields only, and the version of the object that they are about.
func SendsTheTwoFieldsOnly(
	ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager, available int32,
) error {
	if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == available {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},"status":{"observedGeneration":%d,"availableReplicas":%d}}`,
		d.ResourceVersion, d.Generation, available)
	_, err := databases.Patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
