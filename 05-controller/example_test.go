package main

import (
	"context"
	"maps"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// applyIfDifferent applies a ConfigMap if a field of it differs, and returns whether it has written.
func applyIfDifferent(
	ctx context.Context,
	configMaps typedcorev1.ConfigMapInterface,
	desired *corev1ac.ConfigMapApplyConfiguration,
) (bool, error) {
	existing, err := configMaps.Get(ctx, *desired.Name, metav1.GetOptions{}) // a controller reads its store
	if err == nil {
		applied, err := corev1ac.ExtractConfigMap(existing, fieldManager) // our fields, as they are now; the first call takes longest
		if err != nil || apiequality.Semantic.DeepEqual(applied, desired) {
			return false, err
		}
	} else if !apierrors.IsNotFound(err) {
		return false, err
	}
	_, err = configMaps.Apply(ctx, desired, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err == nil, err
}

func TestApplyIfDifferent(t *testing.T) {
	e := newEnv(t, testcluster.Config(t))
	configMaps := e.client.CoreV1().ConfigMaps(e.namespace)
	desired := corev1ac.ConfigMap("settings", e.namespace).WithData(map[string]string{"colour": "blue"})
	apply := func(want bool) {
		t.Helper()
		if wrote := testkit.Must(applyIfDifferent(t.Context(), configMaps, desired))(t); wrote != want {
			t.Errorf("it writes: %t, want %t", wrote, want)
		}
	}
	apply(true)  // there is no ConfigMap yet
	apply(false) // nothing differs
	e.setData("settings", "colour", "red")
	apply(true) // somebody has changed our field
	e.setData("settings", "size", "9")
	apply(false) // theirs is not our business
	configMap := testkit.Must(configMaps.Get(t.Context(), "settings", metav1.GetOptions{}))(t)
	if want := map[string]string{"colour": "blue", "size": "9"}; !maps.Equal(configMap.Data, want) {
		t.Errorf("it has %v, want %v", configMap.Data, want)
	}
}

// setNote sets one annotation, whatever others change in the ConfigMap meanwhile.
func setNote(ctx context.Context, configMaps typedcorev1.ConfigMapInterface, name, note string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		configMap, err := configMaps.Get(ctx, name, metav1.GetOptions{}) // each attempt reads again, and from the server
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&configMap.ObjectMeta, "note", note)
		_, err = configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
		return err
	})
}

func TestUpdateOfAnOldVersion(t *testing.T) {
	e := newEnv(t, testcluster.Config(t))
	configMaps := e.client.CoreV1().ConfigMaps(e.namespace)
	old := e.createConfigMap("orders")
	if err := setNote(t.Context(), configMaps, "orders", "hello"); err != nil {
		t.Fatal(err)
	}
	attempts := 0
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		attempts++
		_, err := configMaps.Update(t.Context(), old, metav1.UpdateOptions{}) // read once, before the loop
		return err
	})
	if !apierrors.IsConflict(err) || attempts != retry.DefaultRetry.Steps {
		t.Errorf("after %d attempts: %v, want a conflict after %d", attempts, err, retry.DefaultRetry.Steps)
	}
}
