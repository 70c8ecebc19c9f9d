package exercise

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ReplacesTheData sends the version, but removes the keys of others.
func ReplacesTheData(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return create(ctx, configMaps, name, settings)
	}
	if err != nil {
		return err
	}
	configMap.Data = settings
	_, err = configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}

// Merges sends a merge patch, which does not remove what it does not name.
func Merges(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	patch, err := json.Marshal(map[string]any{"data": settings})
	if err != nil {
		return err
	}
	_, err = configMaps.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return create(ctx, configMaps, name, settings)
	}
	return err
}

func create(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, settings map[string]string) error {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: settings}
	_, err := configMaps.Create(ctx, configMap, metav1.CreateOptions{})
	return err
}

// DoesNotForce fails when another manager has changed a key of ours.
func DoesNotForce(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	configMap := corev1ac.ConfigMap(name, namespace).WithData(settings)
	_, err := configMaps.Apply(ctx, configMap, metav1.ApplyOptions{FieldManager: "workbook"})
	return err
}

// HasAManagerForEachCall is another manager in each call, and none removes what another has set.
func HasAManagerForEachCall(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	configMap := corev1ac.ConfigMap(name, namespace).WithData(settings)
	manager := fmt.Sprintf("workbook-%d", time.Now().UnixNano())
	_, err := configMaps.Apply(ctx, configMap, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

// ExtractsAndAdds applies its old keys again, together with the new ones.
func ExtractsAndAdds(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	configMap := corev1ac.ConfigMap(name, namespace)
	existing, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		configMap, err = corev1ac.ExtractConfigMap(existing, "workbook")
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	configMap.WithData(settings)
	_, err = configMaps.Apply(ctx, configMap, metav1.ApplyOptions{FieldManager: "workbook", Force: true})
	return err
}

// lastKeys are the keys that the last call has set in each ConfigMap. They are lost when the program ends, and say nothing of a
// ConfigMap that was deleted and created again.
var lastKeys = map[string]map[string]string{}

// RemembersInMemory remembers its keys in the program.
func RemembersInMemory(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lastKeys[name] = settings
		return create(ctx, configMaps, name, settings)
	}
	if err != nil {
		return err
	}
	data := map[string]string{}
	maps.Copy(data, configMap.Data)
	for key := range lastKeys[name] {
		delete(data, key)
	}
	maps.Copy(data, settings)
	lastKeys[name] = settings
	configMap.Data = data
	_, err = configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}

// ReturnsAtOnceWithoutSettings leaves the keys of the call before.
func ReturnsAtOnceWithoutSettings(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	if len(settings) == 0 {
		return nil
	}
	return ApplySettings(ctx, configMaps, namespace, name, settings)
}

// IgnoresTheError says that all is well when the server has not done it.
func IgnoresTheError(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	_ = ApplySettings(ctx, configMaps, namespace, name, settings)
	return nil
}
