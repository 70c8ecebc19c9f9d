// Package exercise answers "Own fields only". README.md has the task.
package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ApplySettings lets a ConfigMap have these settings in its data. What an earlier call has set, and this one does not, is
// removed. Keys of others stay.
func ApplySettings(
	ctx context.Context,
	configMaps typedcorev1.ConfigMapInterface,
	namespace, name string,
	settings map[string]string,
) error {
	// All of what we want, each time: what we have applied before and leave out now, the server removes.
	configMap := corev1ac.ConfigMap(name, namespace).WithData(settings)
	// The same manager each time: the server knows by this name which fields are ours. With Force, a field that somebody else
	// has changed becomes ours again.
	_, err := configMaps.Apply(ctx, configMap, metav1.ApplyOptions{FieldManager: "workbook", Force: true})
	return err
}
