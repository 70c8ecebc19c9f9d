// A wrong answer: a merge patch does not remove what it does not name.

package exercise

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	patch, err := json.Marshal(map[string]any{"data": settings})
	if err != nil {
		return err
	}
	_, err = configMaps.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: settings}
		_, err = configMaps.Create(ctx, configMap, metav1.CreateOptions{})
	}
	return err
}
