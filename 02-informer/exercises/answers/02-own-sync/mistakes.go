package exercise

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// IgnoresThatCtxHasEnded does not read what WaitFor returns.
func IgnoresThatCtxHasEnded(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod)) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: remember})
	if err != nil {
		return err
	}
	cache.WaitFor(ctx, "", registration.HasSyncedChecker())
	return nil
}

// WaitsForTheInformer waits for the informer's store, not for its handler.
func WaitsForTheInformer(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod)) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: remember})
	if err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
		return ctx.Err()
	}
	return nil
}

// Sleeps hopes that a second and a half is enough.
func Sleeps(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod)) error {
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
