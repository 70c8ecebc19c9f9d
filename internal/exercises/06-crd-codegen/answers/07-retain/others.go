package exercise

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// PatchesOneOwnerAway takes away one owner by a strategic merge patch, as the garbage collector does, and stops at the first error.
func PatchesOneOwnerAway(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	secrets typedcorev1.SecretInterface,
	d *dbv1alpha1.DatabaseManager,
) error {
	children, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: "coolops.cn/databasemanager=" + string(d.UID)})
	if err != nil {
		return err
	}
	for _, child := range children.Items {
		patch := fmt.Appendf(nil, `{"metadata":{"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, d.UID)
		if _, err := secrets.Patch(ctx, child.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	rest := slices.DeleteFunc(slices.Clone(d.Finalizers), func(name string) bool { return name == "coolops.cn/retain" })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"finalizers": rest, "resourceVersion": d.ResourceVersion}})
	if err != nil {
		return err
	}
	_, err = databases.Patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// SendsTheUIDOnly sends the rest of the finalizers in the store, with the UID and without a version. That is enough: d is being
// deleted, so nobody can add a finalizer any more, and the API server rejects a list that has one which is gone.
func SendsTheUIDOnly(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	secrets typedcorev1.SecretInterface,
	d *dbv1alpha1.DatabaseManager,
) error {
	children, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: databaseLabel + "=" + string(d.UID)})
	if err != nil {
		return err
	}
	for _, child := range children.Items {
		child.OwnerReferences = slices.DeleteFunc(child.OwnerReferences,
			func(owner metav1.OwnerReference) bool { return owner.UID == d.UID })
		if _, err := secrets.Update(ctx, &child, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	rest := slices.DeleteFunc(slices.Clone(d.Finalizers), func(name string) bool { return name == finalizer })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": rest, "uid": d.UID}})
	if err != nil {
		return err
	}
	_, err = databases.Patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
