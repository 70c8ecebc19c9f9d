// Package exercise answers "A thousand updates". README.md has the task.
package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Run calls save with the newest state of each pod that is added or updated. When ctx ends, it waits for the save that runs, and
// returns. The informer is started already.
func Run(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[cache.ObjectName]()
	// Keys: the same one for all events of a pod, so the queue can merge them. Two pointers are never the same.
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { queue.Add(cache.MetaObjectToName(object.(*corev1.Pod))) },
		UpdateFunc: func(_, object any) { queue.Add(cache.MetaObjectToName(object.(*corev1.Pod))) },
	})
	if err != nil {
		return err
	}
	defer pods.RemoveEventHandler(registration)

	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			// Read here, not in the handler: by now the store may have a newer state than the one of the event.
			object, exists, err := pods.GetIndexer().GetByKey(key.String())
			if err == nil && exists && ctx.Err() == nil {
				save(object.(*corev1.Pod))
			}
			queue.Done(key)
		}
	})
	<-ctx.Done()
	queue.ShutDown()
	worker.Wait()
	return nil
}
