// Package exercise answers "Events when something changes". README.md has the task.
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
	reported := map[types.UID]string{} // the last problem of each ConfigMap; a new one of the same name has another UID
	return func(ctx context.Context, configMap *corev1.ConfigMap) error {
		wrote, err := ensure(ctx, configMap)
		if apierrors.IsInvalid(err) {
			if reported[configMap.UID] != err.Error() {
				reported[configMap.UID] = err.Error()
				recorder.Event(configMap, corev1.EventTypeWarning, "Invalid", err.Error())
			}
			return nil // the same ConfigMap would be as invalid the next time
		}
		if err != nil {
			return err // the queue tries again, perhaps a hundred times: no Event
		}
		delete(reported, configMap.UID)
		if wrote { // after the write: an Event says what has happened
			recorder.Event(configMap, corev1.EventTypeNormal, "Updated", "the database is as the ConfigMap says")
		}
		return nil
	}
}
