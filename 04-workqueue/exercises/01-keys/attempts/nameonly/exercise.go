package exercise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Handler(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	add := func(object any) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		if pod, ok := object.(*corev1.Pod); ok {
			queue.Add(cache.ObjectName{Name: pod.Name})
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	}
}
