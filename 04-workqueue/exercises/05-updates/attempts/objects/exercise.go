package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Run(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[*corev1.Pod]()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { queue.Add(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { queue.Add(object.(*corev1.Pod)) },
	})
	if err != nil {
		return err
	}
	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			pod, shutdown := queue.Get()
			if shutdown {
				return
			}
			if ctx.Err() == nil {
				save(pod)
			}
			queue.Done(pod)
		}
	})
	<-ctx.Done()
	queue.ShutDown()
	worker.Wait()
	return nil
}
