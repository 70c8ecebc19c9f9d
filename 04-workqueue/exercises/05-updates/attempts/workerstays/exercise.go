package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Run(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[cache.ObjectName]()
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { queue.Add(cache.MetaObjectToName(object.(*corev1.Pod))) },
		UpdateFunc: func(_, object any) { queue.Add(cache.MetaObjectToName(object.(*corev1.Pod))) },
	})
	if err != nil {
		return err
	}
	saving := make(chan struct{}, 1)
	go func() {
		for {
			key, _ := queue.Get()
			saving <- struct{}{}
			if object, exists, err := pods.GetIndexer().GetByKey(key.String()); err == nil && exists {
				save(object.(*corev1.Pod))
			}
			<-saving
			queue.Done(key)
		}
	}()
	<-ctx.Done()
	saving <- struct{}{} // when the save has ended
	return pods.RemoveEventHandler(registration)
}
