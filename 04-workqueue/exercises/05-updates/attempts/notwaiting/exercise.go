package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Run(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[cache.ObjectName]()
	defer queue.ShutDown()
	pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { queue.Add(cache.MetaObjectToName(obj.(*corev1.Pod))) },
		UpdateFunc: func(_, obj any) { queue.Add(cache.MetaObjectToName(obj.(*corev1.Pod))) },
	})
	go func() {
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			obj, exists, _ := pods.GetIndexer().GetByKey(key.String())
			if exists {
				save(obj.(*corev1.Pod))
			}
			queue.Done(key)
		}
	}()
	<-ctx.Done()
	return nil
}
