// Package exercise answers "When not to send again". README.md has the task.
package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

// Take sets holder, in the data of a ConfigMap, to me, if it is not set. The ConfigMap is from a store. Take returns nil only if I
// hold it after that. An error lets the caller try again later, with what the store has then.
func Take(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	if holder := stored.Data["holder"]; holder != "" && holder != me {
		return fmt.Errorf("%s holds it", holder)
	}
	// TODO: Somebody else may have taken it since. What does this do then?
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configMap, err := configMaps.Get(ctx, stored.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if configMap.Data == nil {
			configMap.Data = map[string]string{}
		}
		configMap.Data["holder"] = me
		_, err = configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
		return err
	})
}
