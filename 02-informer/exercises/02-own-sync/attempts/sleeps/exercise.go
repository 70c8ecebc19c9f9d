// Package exercise has an answer with a mistake: it hopes that a second and a half is enough.
package exercise

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func Load(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod)) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: remember})
	if err != nil {
		return err
	}
	select {
	case <-time.After(1500 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
