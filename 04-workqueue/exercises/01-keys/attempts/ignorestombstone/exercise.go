package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Handler(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	add := func(object any) {
		key, err := cache.ObjectToName(object)
		if err != nil {
			return // not an object
		}
		queue.Add(key)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	}
}
