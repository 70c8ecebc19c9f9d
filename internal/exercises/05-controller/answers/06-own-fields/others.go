package exercise

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ours is the annotation that names the keys that the last call has set.
const ours = "workbook/keys"

// RemembersItsKeys has an annotation that says which keys are ours, as kubectl apply did before server-side apply.
func RemembersItsKeys(
	ctx context.Context,
	configMaps typedcorev1.ConfigMapInterface,
	namespace, name string,
	settings map[string]string,
) error {
	configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		configMap, err = configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	for _, key := range strings.Split(configMap.Annotations[ours], ",") {
		delete(configMap.Data, key)
	}
	metav1.SetMetaDataAnnotation(&configMap.ObjectMeta, ours, strings.Join(slices.Sorted(maps.Keys(settings)), ","))
	if configMap.Data == nil {
		configMap.Data = map[string]string{}
	}
	maps.Copy(configMap.Data, settings)
	_, err = configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}
