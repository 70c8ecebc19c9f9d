// Package exercise has an answer with a mistake: it does not read what WaitFor returns.
package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func Load(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod)) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: remember})
	if err != nil {
		return err
	}
	cache.WaitFor(ctx, "", registration.HasSyncedChecker())
	return nil
}
