// Package exercise answers "A thousand updates". README.md has the task.
package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Run calls save with the newest state of each pod that is added or updated. When ctx ends, it waits for the save that runs, and
// returns. The informer is started already.
func Run(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[cache.ObjectName]()
	// Keys: the same one for all events of a pod, so the queue can merge them. Two pointers are never the same.
	add := func(object any) { queue.Add(cache.MetaObjectToName(object.(*corev1.Pod))) }
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
	}); err != nil {
		return err // the informer has stopped already
	}

	lister := corelisters.NewPodLister(pods.GetIndexer())
	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			// Read here, not in the handler: by now the store may have a newer state than the one of the event.
			pod, err := lister.Pods(key.Namespace).Get(key.Name)
			if err == nil && ctx.Err() == nil { // the pod still exists, and there is time
				save(pod)
			}
			queue.Done(key)
		}
	})
	<-ctx.Done()
	queue.ShutDown()
	worker.Wait()
	return nil
}
