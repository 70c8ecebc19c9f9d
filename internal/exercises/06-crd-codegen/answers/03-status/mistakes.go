package exercise

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

type (
	databases = dbclient.DatabaseManagerInterface
	database  = dbv1alpha1.DatabaseManager
)

// SaysThatASpecItHasNotReadIsProcessed reads the object again, so that there is no conflict.
func SaysThatASpecItHasNotReadIsProcessed(ctx context.Context, databases databases, d *database, available int32) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		fresh, err := databases.Get(ctx, d.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return WriteStatus(ctx, databases, fresh, available)
	})
}

// DropsTheConditions writes a new status, without the conditions.
func DropsTheConditions(ctx context.Context, databases databases, d *database, available int32) error {
	if same(d, available) {
		return nil
	}
	changed := d.DeepCopy()
	changed.Status = dbv1alpha1.DatabaseManagerStatus{ObservedGeneration: d.Generation, AvailableReplicas: available}
	_, err := databases.UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}

// WritesTheStatusOfAnotherObjectOfThatName sends the UID along. But for the status, the server does not compare it.
func WritesTheStatusOfAnotherObjectOfThatName(ctx context.Context, databases databases, d *database, available int32) error {
	if same(d, available) {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"observedGeneration":%d,"availableReplicas":%d}}`,
		d.UID, d.Generation, available)
	_, err := databases.Patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// LeavesOutANumberOf0 sends a patch without availableReplicas if no server is available: the old number stays.
func LeavesOutANumberOf0(ctx context.Context, databases databases, d *database, available int32) error {
	if same(d, available) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": metav1.ObjectMeta{ResourceVersion: d.ResourceVersion},
		"status": struct {
			ObservedGeneration int64 `json:"observedGeneration,omitempty"`
			AvailableReplicas  int32 `json:"availableReplicas,omitempty"`
		}{d.Generation, available},
	})
	if err != nil {
		return err
	}
	_, err = databases.Patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// ReturnsConflictsOnly returns nil if another error has kept the status from being written: the sync is not repeated.
func ReturnsConflictsOnly(ctx context.Context, databases databases, d *database, available int32) error {
	if err := WriteStatus(ctx, databases, d, available); apierrors.IsConflict(err) {
		return err
	}
	return nil
}

// same says that there is nothing to write.
func same(d *database, available int32) bool {
	return d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == available
}
