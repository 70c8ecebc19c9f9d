// Package exercise answers "When not to send again". README.md has the task.
package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Take sets holder, in the data of a ConfigMap, to me, if it is not set. The ConfigMap is from a store. Take returns nil only if I
// hold it after that. An error lets the caller try again later, with what the store has then.
func Take(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	switch holder := stored.Data["holder"]; holder {
	case me:
		return nil
	case "":
	default:
		return fmt.Errorf("%s holds it", holder)
	}
	configMap := stored.DeepCopy()
	if configMap.Data == nil {
		configMap.Data = map[string]string{}
	}
	configMap.Data["holder"] = me
	// With the resourceVersion that was decided about. A conflict is returned: the queue adds the key again, and the next
	// sync decides anew, by what the store has then.
	_, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}
