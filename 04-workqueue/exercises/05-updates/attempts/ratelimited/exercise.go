package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Run(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { queue.AddRateLimited(cache.MetaObjectToName(object.(*corev1.Pod))) },
		UpdateFunc: func(_, object any) { queue.AddRateLimited(cache.MetaObjectToName(object.(*corev1.Pod))) },
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
