// A wrong answer: success is an Event, also if nothing differs.

package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

// NewSync returns a function that syncs a ConfigMap, by ensure, and records Events for it.
func NewSync(
	recorder record.EventRecorder,
	ensure func(ctx context.Context, configMap *corev1.ConfigMap) (bool, error),
) func(ctx context.Context, configMap *corev1.ConfigMap) error {
	reported := map[types.UID]string{}
	return func(ctx context.Context, configMap *corev1.ConfigMap) error {
		_, err := ensure(ctx, configMap)
		if apierrors.IsInvalid(err) {
			if reported[configMap.UID] != err.Error() {
				reported[configMap.UID] = err.Error()
				recorder.Event(configMap, corev1.EventTypeWarning, "Invalid", err.Error())
			}
			return nil
		}
		if err != nil {
			return err
		}
		delete(reported, configMap.UID)
		recorder.Event(configMap, corev1.EventTypeNormal, "Updated", "the database is as the ConfigMap says")
		return nil
	}
}
