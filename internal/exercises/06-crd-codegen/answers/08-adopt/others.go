package exercise

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// AsksForTheOwnerFirst asks for the owner first, and sends the new reference only, with the version that it has read.
// A second controller is rejected by the API server.
func AsksForTheOwnerFirst(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	secrets typedcorev1.SecretInterface,
	d *dbv1alpha1.DatabaseManager,
	name string,
) error {
	owner, err := databases.Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	switch {
	case err != nil:
		return err
	case metav1.IsControlledBy(secret, d):
		return nil
	case secret.Annotations["coolops.cn/adopt"] != d.Name, owner.UID != d.UID, !owner.DeletionTimestamp.IsZero():
		return errors.New("the Secret is not for this DatabaseManager")
	}
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q,"ownerReferences":[{"apiVersion":"coolops.cn/v1alpha1",
		"kind":"DatabaseManager","name":%q,"uid":%q,"controller":true}]}}`, secret.ResourceVersion, d.Name, d.UID)
	_, err = secrets.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// ReadsAgainAfterAConflict reads and checks everything again if somebody has changed the Secret before the write.
func ReadsAgainAfterAConflict(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	secrets typedcorev1.SecretInterface,
	d *dbv1alpha1.DatabaseManager,
	name string,
) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { return Adopt(ctx, databases, secrets, d, name) })
}
