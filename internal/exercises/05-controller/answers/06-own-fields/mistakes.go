package exercise

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// startTime is when the program was started.
var startTime = time.Now()

// HasAManagerForEachProcess is another manager each time the program is started, and does not remove what an earlier one has set.
func HasAManagerForEachProcess(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	configMap := corev1ac.ConfigMap(name, namespace).WithData(settings)
	manager := fmt.Sprintf("workbook-%d", startTime.UnixNano())
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

// lastSettings are what the last call has set in each ConfigMap. They are lost when the program ends.
var lastSettings = map[string]map[string]string{}

// RemembersInMemory remembers its keys in the program, by the ConfigMap's name. That says nothing of a ConfigMap that was deleted
// and created again.
func RemembersInMemory(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	idOf := func(*corev1.ConfigMap) string { return name }
	return remember(ctx, configMaps, name, settings, idOf, func(key, value string) bool { return true })
}

// RemembersValuesInMemory removes a key only if it has the value that the last call has set. Another can have set the same one.
func RemembersValuesInMemory(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	idOf := func(*corev1.ConfigMap) string { return name }
	return remember(ctx, configMaps, name, settings, idOf, func(key, value string) bool { return lastSettings[name][key] == value })
}

// RemembersByTheUIDInMemory knows a ConfigMap that was created again. But it knows nothing when the program starts again.
func RemembersByTheUIDInMemory(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, namespace, name string, settings map[string]string,
) error {
	idOf := func(configMap *corev1.ConfigMap) string { return string(configMap.UID) }
	return remember(ctx, configMaps, name, settings, idOf, func(key, value string) bool { return true })
}

// remember removes the keys of the last call that are ours, and sets those of this one.
func remember(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, settings map[string]string,
	idOf func(*corev1.ConfigMap) string, isOurs func(key, value string) bool,
) error {
	configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		configMap, err = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	data := map[string]string{}
	for key, value := range configMap.Data {
		if _, set := lastSettings[idOf(configMap)][key]; !set || !isOurs(key, value) {
			data[key] = value
		}
	}
	maps.Copy(data, settings)
	configMap.Data = data
	if _, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{}); err != nil {
		return err
	}
	lastSettings[idOf(configMap)] = settings
	return nil
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
