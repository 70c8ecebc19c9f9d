package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Run(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[string]()
	var states sync.Map // the pods whose keys are in the queue
	add := func(object any) {
		pod := object.(*corev1.Pod)
		states.LoadOrStore(pod.Name, pod)
		queue.Add(pod.Name)
	}
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
	})
	if err != nil {
		return err
	}
	var worker sync.WaitGroup
	worker.Go(func() {
		for {
			name, shutdown := queue.Get()
			if shutdown {
				return
			}
			if pod, ok := states.LoadAndDelete(name); ok && ctx.Err() == nil {
				save(pod.(*corev1.Pod))
			}
			queue.Done(name)
		}
	})
	<-ctx.Done()
	queue.ShutDown()
	worker.Wait()
	return pods.RemoveEventHandler(registration)
}
