// A wrong answer: the patch is for any version, not for the one that was decided about.

package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	patch := fmt.Sprintf(`{"data":{"holder":%q}}`, me)
	_, err := configMaps.Patch(ctx, stored.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
