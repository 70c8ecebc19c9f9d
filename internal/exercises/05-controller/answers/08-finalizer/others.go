package exercise

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// AppliesTheFinalizer does one step at a time. Server-side apply sets and removes the finalizer, which has this manager.
func AppliesTheFinalizer(
	ctx context.Context,
	configMaps typedcorev1.ConfigMapInterface,
	name string,
	create, remove func(ctx context.Context, bucket string) error,
) error {
	configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	// The UID, because an apply creates what is not there, and the ConfigMap may be gone by now.
	ours := corev1ac.ConfigMap(name, configMap.Namespace).WithUID(configMap.UID)
	options := metav1.ApplyOptions{FieldManager: "workbook"}
	if configMap.DeletionTimestamp.IsZero() {
		if !slices.Contains(configMap.Finalizers, finalizer) {
			_, err := configMaps.Apply(ctx, ours.WithFinalizers(finalizer), options)
			return err // if it is nil, the event of this change brings the next sync
		}
		return create(ctx, name)
	}
	if err := remove(ctx, name); err != nil {
		return err
	}
	_, err = configMaps.Apply(ctx, ours, options)
	return err
}
