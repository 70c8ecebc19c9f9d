package exercise

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

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

// RetriesABusyServer sends again when the server has too much to do. Then it has more.
func RetriesABusyServer(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	return retryAlso(ctx, configMaps, name, apierrors.IsTooManyRequests)
}

// RetriesATimeout sends again after a timeout. The server can have added one then: the second one is too much.
func RetriesATimeout(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	return retryAlso(ctx, configMaps, name, apierrors.IsTimeout)
}

// ReturnsAnErrorOfItsOwn returns an error in which the caller cannot find the server's.
func ReturnsAnErrorOfItsOwn(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	err := Increment(ctx, configMaps, name)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("ConfigMap %s: %v", name, err)
	}
	return err
}

// retryAlso retries conflicts and one kind of other errors.
func retryAlso(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string, also func(error) bool) error {
	again := func(err error) bool { return apierrors.IsConflict(err) || also(err) }
	return retry.OnError(retry.DefaultRetry, again, func() error { return increment(ctx, configMaps, name) })
}

// ReadsTheNumberAtTheBeginning takes "7 apples" for 7: Sscan stops at the first space, and says nothing of the rest.
func ReadsTheNumberAtTheBeginning(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var count int
		if _, err := fmt.Sscan(configMap.Data["count"], &count); err != nil {
			return err
		}
		configMap.Data["count"] = strconv.Itoa(count + 1)
		return update(ctx, configMaps, configMap)
	})
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
