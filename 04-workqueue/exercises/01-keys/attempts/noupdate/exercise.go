package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Handler(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	add := func(object any) {
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			queue.Add(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: add, DeleteFunc: add}
}
