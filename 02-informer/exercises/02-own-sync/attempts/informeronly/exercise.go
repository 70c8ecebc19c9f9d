// Package exercise has an answer with a mistake: it waits for the informer's store, not for its handler.
package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func Load(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod)) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: remember})
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
		return ctx.Err()
	}
	return nil
}
