package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// HasATypeWithAMethod has a type with a method, and the ConfigMap's name as the key. So it has to compare the UID.
func HasATypeWithAMethod(
	recorder record.EventRecorder,
	ensure func(ctx context.Context, configMap *corev1.ConfigMap) (bool, error),
) func(ctx context.Context, configMap *corev1.ConfigMap) error {
	r := &reporter{recorder: recorder, problems: map[cache.ObjectName]problem{}}
	return func(ctx context.Context, configMap *corev1.ConfigMap) error {
		wrote, err := ensure(ctx, configMap)
		switch {
		case apierrors.IsInvalid(err):
			r.problem(configMap, err.Error())
			return nil
		case err == nil:
			r.success(configMap, wrote)
		}
		return err
	}
}

type reporter struct {
	recorder record.EventRecorder
	problems map[cache.ObjectName]problem
}

// problem is the last one of a ConfigMap.
type problem struct {
	uid  types.UID
	text string
}

func (r *reporter) problem(configMap *corev1.ConfigMap, text string) {
	key, now := cache.MetaObjectToName(configMap), problem{configMap.UID, text}
	if r.problems[key] == now {
		return
	}
	r.problems[key] = now
	r.recorder.Event(configMap, corev1.EventTypeWarning, "Invalid", text)
}

func (r *reporter) success(configMap *corev1.ConfigMap, wrote bool) {
	delete(r.problems, cache.MetaObjectToName(configMap))
	if wrote {
		r.recorder.Event(configMap, corev1.EventTypeNormal, "Updated", "the database has been updated")
	}
}
