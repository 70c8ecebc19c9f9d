package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// NeedsNoWorkQueue has a set of dirty keys, and one goroutine that empties it. So there is no order, and one worker only.
func NeedsNoWorkQueue(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	var mu sync.Mutex
	dirty := map[string]bool{}
	changed := make(chan struct{}, 1)
	add := func(object any) {
		key, err := cache.MetaNamespaceKeyFunc(object)
		if err != nil {
			return
		}
		mu.Lock()
		dirty[key] = true
		mu.Unlock()
		select {
		case changed <- struct{}{}:
		default: // it is said already
		}
	}
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
	})
	if err != nil {
		return err
	}
	defer pods.RemoveEventHandler(registration)

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		mu.Lock()
		keys := dirty
		dirty = map[string]bool{}
		mu.Unlock()
		for key := range keys {
			object, exists, err := pods.GetIndexer().GetByKey(key)
			if err == nil && exists && ctx.Err() == nil {
				save(object.(*corev1.Pod))
			}
		}
	}
}
