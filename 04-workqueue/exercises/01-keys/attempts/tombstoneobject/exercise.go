package exercise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Handler(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	add := func(object any) {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			tombstone, ok := object.(cache.DeletedFinalStateUnknown)
			if !ok {
				return
			}
			pod, ok = tombstone.Obj.(*corev1.Pod)
			if !ok {
				return
			}
		}
		queue.Add(cache.MetaObjectToName(pod))
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	}
}
