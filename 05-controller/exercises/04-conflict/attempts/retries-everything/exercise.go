// A wrong answer: every error is retried.

package exercise

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

// Increment adds one to the number under the key count of a ConfigMap.
func Increment(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	always := func(error) bool { return true }
	return retry.OnError(retry.DefaultRetry, always, func() error {
		configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(configMap.Data["count"])
		if err != nil {
			return err
		}
		configMap.Data["count"] = strconv.Itoa(count + 1)
		_, err = configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
		return err
	})
}
