// Package exercise answers "A finalizer". README.md has the task.
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
	if configMap.DeletionTimestamp != nil {
		if !slices.Contains(configMap.Finalizers, finalizer) {
			return nil // there was no bucket, or it is gone: others still keep the ConfigMap
		}
		if err := remove(ctx, name); err != nil {
			return err // the finalizer stays, so that the next sync still finds the ConfigMap
		}
		configMap.Finalizers = slices.DeleteFunc(configMap.Finalizers, func(f string) bool { return f == finalizer })
		_, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
		return err
	}
	// Before the bucket: if this process is killed in between, there is a finalizer without a bucket, which the removal
	// repairs. The other order leaves a bucket that nobody knows.
	if !slices.Contains(configMap.Finalizers, finalizer) {
		configMap.Finalizers = append(configMap.Finalizers, finalizer)
		if _, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return create(ctx, name)
}
