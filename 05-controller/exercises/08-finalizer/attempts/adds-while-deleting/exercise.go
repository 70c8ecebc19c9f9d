// A wrong answer: it adds the finalizer before it knows whether the ConfigMap is being deleted.

package exercise

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// finalizer keeps a ConfigMap until its bucket is gone.
const finalizer = "workbook.example.com/bucket"

// Sync gives a ConfigMap a bucket of the same name, and removes the bucket when the ConfigMap is deleted.
func Sync(
	ctx context.Context,
	configMaps typedcorev1.ConfigMapInterface,
	name string,
	create, remove func(ctx context.Context, bucket string) error,
) error {
	configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.Contains(configMap.Finalizers, finalizer) {
		configMap.Finalizers = append(configMap.Finalizers, finalizer)
		if _, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if configMap.DeletionTimestamp != nil {
		if err := remove(ctx, name); err != nil {
			return err
		}
		configMap.Finalizers = slices.DeleteFunc(configMap.Finalizers, func(f string) bool { return f == finalizer })
		_, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
		return err
	}
	return create(ctx, name)
}
