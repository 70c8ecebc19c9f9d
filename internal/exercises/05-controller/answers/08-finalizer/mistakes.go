package exercise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

type bucketFunc = func(ctx context.Context, bucket string) error

// RemovesTheFinalizerFirst removes the finalizer before the bucket.
func RemovesTheFinalizerFirst(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	configMap, err := get(ctx, configMaps, name)
	if configMap == nil {
		return err
	}
	if configMap.DeletionTimestamp != nil {
		if !slices.Contains(configMap.Finalizers, finalizer) {
			return nil
		}
		if err := removeFinalizer(ctx, configMaps, configMap); err != nil {
			return err
		}
		return remove(ctx, name)
	}
	return addFinalizerAndCreate(ctx, configMaps, configMap, create)
}

// PatchesTheWholeList sends a merge patch, which replaces the whole list, also what others have added since it was read.
func PatchesTheWholeList(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	return Sync(ctx, patching{configMaps}, name, create, remove)
}

type patching struct{ typedcorev1.ConfigMapInterface }

// Update writes the list of finalizers, without the resourceVersion.
func (p patching) Update(ctx context.Context, configMap *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": configMap.Finalizers}})
	if err != nil {
		return nil, err
	}
	return p.Patch(ctx, configMap.Name, types.MergePatchType, data, metav1.PatchOptions{})
}

// AddsWhileDeleting adds the finalizer before it knows whether the ConfigMap is being deleted.
func AddsWhileDeleting(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	configMap, err := get(ctx, configMaps, name)
	if configMap == nil {
		return err
	}
	if err := addFinalizer(ctx, configMaps, configMap); err != nil {
		return err
	}
	if configMap.DeletionTimestamp != nil {
		return release(ctx, configMaps, configMap, remove)
	}
	return create(ctx, name)
}

// RemovesTheFinalizerWhenCreateFails takes any error of create for: there is no bucket. After a timeout there may be one.
func RemovesTheFinalizerWhenCreateFails(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	return rollBack(ctx, configMaps, name, create, remove, func(error) bool { return true })
}

// RemovesTheFinalizerWhenCreateHasFoundNothing takes a NotFound of create for: there is no bucket. Something else was not found.
func RemovesTheFinalizerWhenCreateHasFoundNothing(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	return rollBack(ctx, configMaps, name, create, remove, apierrors.IsNotFound)
}

// rollBack is Sync, and removes the finalizer after some errors of create.
func rollBack(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc, after func(error) bool,
) error {
	failed := false
	err := Sync(ctx, configMaps, name, func(ctx context.Context, bucket string) error {
		err := create(ctx, bucket)
		failed = err != nil && after(err)
		return err
	}, remove)
	if !failed {
		return err
	}
	configMap, getErr := get(ctx, configMaps, name)
	if configMap == nil {
		return errors.Join(err, getErr)
	}
	return errors.Join(err, removeFinalizer(ctx, configMaps, configMap))
}

// TakesEachNotFoundForAConfigMapThatIsGone takes each NotFound for that of Get. It can be that of create, too.
func TakesEachNotFoundForAConfigMapThatIsGone(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	err := Sync(ctx, configMaps, name, create, remove)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// TakesABucketThatIsNotFoundForGone takes a NotFound of remove for a bucket that is gone. A second remove returns nil; this is
// something else that was not found.
func TakesABucketThatIsNotFoundForGone(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	return Sync(ctx, configMaps, name, create, func(ctx context.Context, bucket string) error {
		if err := remove(ctx, bucket); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// RemovesTheFinalizerByItsIndex sends the index of its finalizer at the time of the read. By now, another one can have it.
func RemovesTheFinalizerByItsIndex(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	configMap, err := get(ctx, configMaps, name)
	if configMap == nil {
		return err
	}
	if configMap.DeletionTimestamp == nil {
		return addFinalizerAndCreate(ctx, configMaps, configMap, create)
	}
	index := slices.Index(configMap.Finalizers, finalizer)
	if index < 0 {
		return nil
	}
	if err := remove(ctx, name); err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `[{"op":"remove","path":"/metadata/finalizers/%d"}]`, index)
	_, err = configMaps.Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

// RemovesTheBucketAfterTheEndToo lets a removal go on when the caller has ended it.
func RemovesTheBucketAfterTheEndToo(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	return Sync(ctx, configMaps, name, create, func(ctx context.Context, bucket string) error {
		return remove(context.WithoutCancel(ctx), bucket)
	})
}

// CreatesTheBucketForAMinute has a timeout of its own, and nothing else ends it.
func CreatesTheBucketForAMinute(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	return Sync(ctx, configMaps, name, func(ctx context.Context, bucket string) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return create(ctx, bucket)
	}, remove)
}

// HidesThatCtxHasEnded takes an end for no failure, and its caller takes the bucket for one that is there.
func HidesThatCtxHasEnded(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, create, remove bucketFunc,
) error {
	return Sync(ctx, configMaps, name, func(ctx context.Context, bucket string) error {
		if err := create(ctx, bucket); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, remove)
}

// get returns nil, and no error, if there is no such ConfigMap.
func get(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) (*corev1.ConfigMap, error) {
	configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return configMap, nil
}

func addFinalizerAndCreate(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, configMap *corev1.ConfigMap, create bucketFunc,
) error {
	if err := addFinalizer(ctx, configMaps, configMap); err != nil {
		return err
	}
	return create(ctx, configMap.Name)
}

func addFinalizer(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, configMap *corev1.ConfigMap) error {
	if slices.Contains(configMap.Finalizers, finalizer) {
		return nil
	}
	configMap.Finalizers = append(configMap.Finalizers, finalizer)
	_, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}

// release removes the bucket, and then the finalizer.
func release(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, configMap *corev1.ConfigMap, remove bucketFunc) error {
	if !slices.Contains(configMap.Finalizers, finalizer) {
		return nil
	}
	if err := remove(ctx, configMap.Name); err != nil {
		return err
	}
	return removeFinalizer(ctx, configMaps, configMap)
}

func removeFinalizer(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, configMap *corev1.ConfigMap) error {
	configMap.Finalizers = slices.DeleteFunc(configMap.Finalizers, func(f string) bool { return f == finalizer })
	_, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}
