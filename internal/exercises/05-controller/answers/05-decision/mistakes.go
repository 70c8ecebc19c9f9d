package exercise

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

// RetriesOnConflict reads again after a conflict, and does not decide again.
func RetriesOnConflict(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	if done, err := decide(stored, me); done {
		return err
	}
	configMap := stored.DeepCopy()
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		err := take(ctx, configMaps, configMap, me)
		if err != nil {
			if current, err := configMaps.Get(ctx, stored.Name, metav1.GetOptions{}); err == nil {
				configMap = current
			}
		}
		return err
	})
}

// DecidesOnce decides by the store, and writes to what the server has now.
func DecidesOnce(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	if done, err := decide(stored, me); done {
		return err
	}
	configMap, err := configMaps.Get(ctx, stored.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return take(ctx, configMaps, configMap, me)
}

// PatchesWithoutAVersion sends a patch for any version, not for the one that was decided about.
func PatchesWithoutAVersion(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	if done, err := decide(stored, me); done {
		return err
	}
	patch := fmt.Sprintf(`{"data":{"holder":%q}}`, me)
	_, err := configMaps.Patch(ctx, stored.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// ChangesTheStoreForAMoment says in the store's object that I hold the machine, and changes it back when the server has answered.
func ChangesTheStoreForAMoment(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string,
) error {
	if done, err := decide(stored, me); done {
		return err
	}
	before := stored.Data
	defer func() { stored.Data = before }()
	stored.Data = maps.Clone(before)
	return take(ctx, configMaps, stored, me)
}

// ReadsDecidesAndPatches decides by what the server has, and does not say with the patch which version that was.
func ReadsDecidesAndPatches(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	configMap, err := configMaps.Get(ctx, stored.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return PatchesWithoutAVersion(ctx, configMaps, configMap, me)
}

// TrustsTheFieldManager applies without Force. The server refuses to change what another field manager has set; but another
// process of this program has the same one.
func TrustsTheFieldManager(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	configMap, err := configMaps.Get(ctx, stored.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if done, err := decide(configMap, me); done {
		return err
	}
	mine := corev1ac.ConfigMap(stored.Name, stored.Namespace).WithData(map[string]string{"holder": me})
	_, err = configMaps.Apply(ctx, mine, metav1.ApplyOptions{FieldManager: "machines"})
	return err
}

// ComparesTheBeginning takes machine-10 for machine-1: a number may follow the name.
func ComparesTheBeginning(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	if strings.HasPrefix(stored.Data["holder"], me) {
		return nil
	}
	return Take(ctx, configMaps, stored, me)
}

// ReturnsConflictsOnly takes any other error for nil.
func ReturnsConflictsOnly(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	if done, err := decide(stored, me); done {
		return err
	}
	if err := take(ctx, configMaps, stored.DeepCopy(), me); apierrors.IsConflict(err) {
		return err
	}
	return nil
}

// HidesTheLastOfManyConflicts decides again after each conflict, four times. Then it returns nil: the err of the loop is another
// variable.
func HidesTheLastOfManyConflicts(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string,
) error {
	var err error
	configMap := stored.DeepCopy()
	for range 4 {
		if done, err := decide(configMap, me); done {
			return err
		}
		err := take(ctx, configMaps, configMap, me)
		if !apierrors.IsConflict(err) {
			return err
		}
		configMap, err = configMaps.Get(ctx, stored.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
	}
	return err
}

// AddsWhatMayBeThere sends a JSON patch that adds the key, if the data has other keys. Add replaces a key that is there by now.
func AddsWhatMayBeThere(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string) error {
	if done, err := decide(stored, me); done {
		return err
	}
	if len(stored.Data) == 0 {
		return Take(ctx, configMaps, stored, me)
	}
	patch := fmt.Sprintf(`[{"op":"add","path":"/data/holder","value":%q}]`, me)
	_, err := configMaps.Patch(ctx, stored.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// GivesItBackAfterAConflict cleans up, as if the write had not been done. But it can have been done by an earlier call.
func GivesItBackAfterAConflict(
	ctx context.Context, configMaps typedcorev1.ConfigMapInterface, stored *corev1.ConfigMap, me string,
) error {
	err := Take(ctx, configMaps, stored, me)
	if !apierrors.IsConflict(err) {
		return err
	}
	configMap, getErr := configMaps.Get(ctx, stored.Name, metav1.GetOptions{})
	if getErr != nil {
		return errors.Join(err, getErr)
	}
	if configMap.Data["holder"] == me {
		delete(configMap.Data, "holder")
		_, updateErr := configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
		return errors.Join(err, updateErr)
	}
	return err
}

// decide is done if there is nothing to write.
func decide(configMap *corev1.ConfigMap, me string) (done bool, err error) {
	switch holder := configMap.Data["holder"]; holder {
	case me:
		return true, nil
	case "":
		return false, nil
	default:
		return true, fmt.Errorf("%s holds it", holder)
	}
}

// take writes the ConfigMap that it is given, with me as the holder.
func take(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, configMap *corev1.ConfigMap, me string) error {
	if configMap.Data == nil {
		configMap.Data = map[string]string{}
	}
	configMap.Data["holder"] = me
	_, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}
