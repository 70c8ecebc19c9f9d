package exercise

import (
	"context"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// RemembersByName takes a pod that is created under the name of a deleted one for the same pod.
func RemembersByName(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod)) error {
	known := map[cache.ObjectName]bool{}
	return Load(ctx, pods, func(pod *corev1.Pod) {
		if name := cache.MetaObjectToName(pod); !known[name] {
			known[name] = true
			remember(pod)
		}
	})
}

// WaitsForItsHandlerWithoutCtx waits for the informer until ctx ends, and for its own handler however long that takes.
func WaitsForItsHandlerWithoutCtx(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod)) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{AddFunc: remember})
	if err != nil {
		return err
	}
	if !cache.WaitFor(ctx, "", pods.HasSyncedChecker()) {
		return context.Cause(ctx)
	}
	<-registration.HasSyncedChecker().Done()
	return nil
}

// CountsThePodsOfTheSyncedStore waits until it has as many pods as the store. A pod that is deleted meanwhile is in the store no more.
func CountsThePodsOfTheSyncedStore(
	ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod),
) error {
	var remembered atomic.Int64
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) {
			remember(pod)
			remembered.Add(1)
		},
	})
	if err != nil {
		return err
	}
	all := func() bool { return int(remembered.Load()) >= len(pods.GetStore().ListKeys()) }
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, all) {
		return ctx.Err()
	}
	return nil
}

// GoesThroughTheStoreFirst adds its handler afterwards, for later pods. A pod that comes between both is for neither.
func GoesThroughTheStoreFirst(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod)) error {
	if !cache.WaitFor(ctx, "", pods.HasSyncedChecker()) {
		return context.Cause(ctx)
	}
	for _, object := range pods.GetStore().List() {
		remember(object.(*corev1.Pod))
	}
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerDetailedFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod, isInInitialList bool) {
			if !isInInitialList {
				remember(pod)
			}
		},
	})
	return err
}

var seen sync.Map // UIDs

// RemembersForAllCalls skips the pods that an earlier call of Load has seen, although that had another remember.
func RemembersForAllCalls(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod)) error {
	return Load(ctx, pods, func(pod *corev1.Pod) {
		if _, again := seen.LoadOrStore(pod.UID, true); !again {
			remember(pod)
		}
	})
}

// WaitsForOnePodAtLeast returns when a pod is remembered. There may be none.
func WaitsForOnePodAtLeast(
	ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], remember func(*corev1.Pod),
) error {
	one := make(chan struct{})
	var first sync.Once
	err := Load(ctx, pods, func(pod *corev1.Pod) {
		remember(pod)
		first.Do(func() { close(one) })
	})
	if err != nil {
		return err
	}
	select {
	case <-one:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
