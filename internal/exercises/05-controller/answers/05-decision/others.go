package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

// DecidesAgain does send again, but each attempt reads and decides again.
func DecidesAgain(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configMap, err := configMaps.Get(ctx, stored.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		switch holder := configMap.Data["holder"]; holder {
		case me:
			return nil
		case "":
		default:
			return fmt.Errorf("%s holds it", holder)
		}
		if configMap.Data == nil {
			configMap.Data = map[string]string{}
		}
		configMap.Data["holder"] = me
		_, err = configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
		return err
	})
}
