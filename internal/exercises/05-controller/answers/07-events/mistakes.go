package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
)

type (
	ensureFunc = func(ctx context.Context, configMap *corev1.ConfigMap) (bool, error)
	syncFunc   = func(ctx context.Context, configMap *corev1.ConfigMap) error
)

// memory has the last problem of each key. once records a problem that is not the last one.
type memory map[string]string

func (m memory) once(recorder record.EventRecorder, key string, configMap *corev1.ConfigMap, problem error) {
	if m[key] != problem.Error() {
		m[key] = problem.Error()
		recordProblem(recorder, configMap, problem)
	}
}

func recordProblem(recorder record.EventRecorder, configMap *corev1.ConfigMap, problem error) {
	recorder.Event(configMap, corev1.EventTypeWarning, "Invalid", problem.Error())
}

func recordUpdate(recorder record.EventRecorder, configMap *corev1.ConfigMap) {
	recorder.Event(configMap, corev1.EventTypeNormal, "Updated", "the database is as the ConfigMap says")
}

// HasOneMemoryForAName shares one memory between ConfigMaps of the same name in two namespaces.
func HasOneMemoryForAName(recorder record.EventRecorder, ensure ensureFunc) syncFunc {
	return newSync(recorder, ensure, func(configMap *corev1.ConfigMap) string { return configMap.Name })
}

// HasOneMemoryForAll shares one memory between all ConfigMaps.
func HasOneMemoryForAll(recorder record.EventRecorder, ensure ensureFunc) syncFunc {
	return newSync(recorder, ensure, func(*corev1.ConfigMap) string { return "" })
}

// DropsTheManagedFields saves memory, in a ConfigMap that is the store's.
func DropsTheManagedFields(recorder record.EventRecorder, ensure ensureFunc) syncFunc {
	sync := NewSync(recorder, ensure)
	return func(ctx context.Context, configMap *corev1.ConfigMap) error {
		configMap.ManagedFields = nil
		return sync(ctx, configMap)
	}
}

// RemembersAllMessages does not record a problem again that comes back after another one.
func RemembersAllMessages(recorder record.EventRecorder, ensure ensureFunc) syncFunc {
	reported := map[types.UID]map[string]bool{}
	return func(ctx context.Context, configMap *corev1.ConfigMap) error {
		wrote, err := ensure(ctx, configMap)
		if apierrors.IsInvalid(err) {
			if reported[configMap.UID] == nil {
				reported[configMap.UID] = map[string]bool{}
			}
			if !reported[configMap.UID][err.Error()] {
				reported[configMap.UID][err.Error()] = true
				recordProblem(recorder, configMap, err)
			}
			return nil
		}
		if err != nil {
			return err
		}
		delete(reported, configMap.UID)
		if wrote {
			recordUpdate(recorder, configMap)
		}
		return nil
	}
}

// everReported is shared by all that NewSync returns.
var everReported = memory{}

// RemembersInAPackageVariable has one memory for the whole program.
func RemembersInAPackageVariable(recorder record.EventRecorder, ensure ensureFunc) syncFunc {
	return newSyncWith(everReported, recorder, ensure, func(configMap *corev1.ConfigMap) string { return string(configMap.UID) })
}

// DoesNotSayTheMistake lets the user guess.
func DoesNotSayTheMistake(recorder record.EventRecorder, ensure ensureFunc) syncFunc {
	return NewSync(silent{recorder}, ensure)
}

// silent says the same in each Event.
type silent struct{ record.EventRecorder }

func (s silent) Event(object runtime.Object, eventType, reason, _ string) {
	s.EventRecorder.Event(object, eventType, reason, "sync of a ConfigMap")
}

// TakesTheTextForAFormat garbles a percent sign in the error's text.
func TakesTheTextForAFormat(recorder record.EventRecorder, ensure ensureFunc) syncFunc {
	return NewSync(formatting{recorder}, ensure)
}

// formatting has the message in the format, and not in the arguments.
type formatting struct{ record.EventRecorder }

func (f formatting) Event(object runtime.Object, eventType, reason, message string) {
	f.Eventf(object, eventType, reason, "%s: "+message, reason)
}

// newSync is NewSync with another key for what it has reported.
func newSync(recorder record.EventRecorder, ensure ensureFunc, keyOf func(*corev1.ConfigMap) string) syncFunc {
	return newSyncWith(memory{}, recorder, ensure, keyOf)
}

func newSyncWith(
	reported memory, recorder record.EventRecorder, ensure ensureFunc, keyOf func(*corev1.ConfigMap) string,
) syncFunc {
	return func(ctx context.Context, configMap *corev1.ConfigMap) error {
		wrote, err := ensure(ctx, configMap)
		if apierrors.IsInvalid(err) {
			reported.once(recorder, keyOf(configMap), configMap, err)
			return nil
		}
		if err != nil {
			return err
		}
		delete(reported, keyOf(configMap))
		if wrote {
			recordUpdate(recorder, configMap)
		}
		return nil
	}
}
