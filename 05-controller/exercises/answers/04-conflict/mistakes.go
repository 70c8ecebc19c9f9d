package exercise

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

// ReadsOnce repeats the update, but not the read.
func ReadsOnce(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	configMap, err := incremented(ctx, configMaps, name)
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { return update(ctx, configMaps, configMap) })
}

// GivesUp tries only once more.
func GivesUp(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	err := increment(ctx, configMaps, name)
	if apierrors.IsConflict(err) {
		err = increment(ctx, configMaps, name)
	}
	return err
}

// HidesTheConflict takes a conflict for success.
func HidesTheConflict(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	err := increment(ctx, configMaps, name)
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// RetriesEverything retries every error.
func RetriesEverything(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	always := func(error) bool { return true }
	return retry.OnError(retry.DefaultRetry, always, func() error { return increment(ctx, configMaps, name) })
}

// RemovesTheVersion sends no resourceVersion, so there is no conflict, and the other increment is lost.
func RemovesTheVersion(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	configMap, err := incremented(ctx, configMaps, name)
	if err != nil {
		return err
	}
	configMap.ResourceVersion = ""
	return update(ctx, configMaps, configMap)
}

// AddsTwoAfterAConflict remembers from attempt to attempt what it has added.
func AddsTwoAfterAConflict(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	added := 0
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configMap, err := incremented(ctx, configMaps, name)
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(configMap.Data["count"])
		if err != nil {
			return err
		}
		configMap.Data["count"] = strconv.Itoa(count + added)
		added++
		return update(ctx, configMaps, configMap)
	})
}

// WipesOtherKeys sends an object that has nothing but the count.
func WipesOtherKeys(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configMap, err := incremented(ctx, configMaps, name)
		if err != nil {
			return err
		}
		return update(ctx, configMaps, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: configMap.ResourceVersion},
			Data:       map[string]string{"count": configMap.Data["count"]},
		})
	})
}

// SendsTheOldRest takes only the count and the resourceVersion from what it reads after a conflict.
func SendsTheOldRest(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	var first *corev1.ConfigMap
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configMap, err := incremented(ctx, configMaps, name)
		if err != nil {
			return err
		}
		if first == nil {
			first = configMap
		}
		first.ResourceVersion, first.Data["count"] = configMap.ResourceVersion, configMap.Data["count"]
		return update(ctx, configMaps, first)
	})
}

// HidesOtherErrors tries again after a conflict, and takes any other error of the update for success.
func HidesOtherErrors(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	for {
		configMap, err := incremented(ctx, configMaps, name)
		if err != nil {
			return err
		}
		if !apierrors.IsConflict(update(ctx, configMaps, configMap)) {
			return nil
		}
	}
}

// RetriesAnyErrorOfUpdate reads and writes again until the update succeeds.
func RetriesAnyErrorOfUpdate(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	for {
		configMap, err := incremented(ctx, configMaps, name)
		if err != nil {
			return err
		}
		if update(ctx, configMaps, configMap) == nil {
			return nil
		}
	}
}

// HasAContextOfItsOwn does not end with the caller's context.
func HasAContextOfItsOwn(_ context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	return Increment(context.Background(), configMaps, name)
}

// increment is Increment without a second attempt.
func increment(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	configMap, err := incremented(ctx, configMaps, name)
	if err != nil {
		return err
	}
	return update(ctx, configMaps, configMap)
}

// incremented reads the ConfigMap, and adds one.
func incremented(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) (*corev1.ConfigMap, error) {
	configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	count, err := strconv.Atoi(configMap.Data["count"])
	if err != nil {
		return nil, err
	}
	configMap.Data["count"] = strconv.Itoa(count + 1)
	return configMap, nil
}

func update(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, configMap *corev1.ConfigMap) error {
	_, err := configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
	return err
}
