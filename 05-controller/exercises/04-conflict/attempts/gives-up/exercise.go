// A wrong answer: it tries only once more.

package exercise

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Increment adds one to the number under the key count of a ConfigMap.
func Increment(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	var err error
	for range 2 {
		configMap, getErr := configMaps.Get(ctx, name, metav1.GetOptions{})
		if getErr != nil {
			return getErr
		}
		count, convErr := strconv.Atoi(configMap.Data["count"])
		if convErr != nil {
			return convErr
		}
		configMap.Data["count"] = strconv.Itoa(count + 1)
		if _, err = configMaps.Update(ctx, configMap, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}
