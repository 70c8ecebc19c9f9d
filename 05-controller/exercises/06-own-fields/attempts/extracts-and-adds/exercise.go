// A wrong answer: it applies its old keys again, together with the new ones.

package exercise

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ApplySettings lets a ConfigMap have these settings in its data. What an earlier call has set, and this one does not, is
// removed. Keys of others stay.
func ApplySettings(
	ctx context.Context,
	configMaps typedcorev1.ConfigMapInterface,
	namespace, name string,
	settings map[string]string,
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
