// A mistake: a merge patch replaces the whole list, also what others have added since it was read.

package exercise

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
		return patch(ctx, configMaps, configMap)
	}
	if !slices.Contains(configMap.Finalizers, finalizer) {
		configMap.Finalizers = append(configMap.Finalizers, finalizer)
		if err := patch(ctx, configMaps, configMap); err != nil {
			return err
		}
	}
	return create(ctx, name)
}

// patch writes the list of finalizers, without the resourceVersion.
func patch(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, configMap *corev1.ConfigMap) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": configMap.Finalizers}})
	if err != nil {
		return err
	}
	_, err = configMaps.Patch(ctx, configMap.Name, types.MergePatchType, data, metav1.PatchOptions{})
	return err
}
