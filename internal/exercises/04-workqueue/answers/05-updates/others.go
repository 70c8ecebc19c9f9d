package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// NeedsNoWorkQueue has all keys that wait in one set, and saves in its own goroutine. So there is no order, and one worker only.
func NeedsNoWorkQueue(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	dirty := make(chan sets.Set[string], 1)
	add := func(object any) { // called for one event after the other, so nobody else puts a set into the channel
		pod := object.(*corev1.Pod)
		keys := sets.New(pod.Namespace + "/" + pod.Name)
		select {
		case others := <-dirty:
			keys = keys.Union(others)
		default:
		}
		dirty <- keys
	}
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
	}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case keys := <-dirty:
			for key := range keys {
				object, exists, _ := pods.GetIndexer().GetByKey(key) // its error is always nil
				if exists && ctx.Err() == nil {
					save(object.(*corev1.Pod))
				}
			}
		}
	}
}
