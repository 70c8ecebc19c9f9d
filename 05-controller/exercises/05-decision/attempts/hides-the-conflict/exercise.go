// A wrong answer: after a conflict it returns nil, as if it held the machine.

package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Take sets holder, in the data of a ConfigMap, to me, if it is not set.
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
	_, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return nil // the next event brings the key back
	}
	return err
}
