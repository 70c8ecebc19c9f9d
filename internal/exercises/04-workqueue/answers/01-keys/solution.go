// Package exercise answers "A key for every event". README.md has the task.
package exercise

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Handler returns a handler for an informer of pods. It adds the key of each pod that has an event to the queue.
func Handler(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	// All events have the same effect: what has happened does not matter, the worker looks at how the pod is now.
	add := func(object any) {
		// It takes the key out of a tombstone, too, where there may be no pod.
		key, err := cache.DeletionHandlingObjectToName(object)
		if err != nil {
			utilruntime.HandleError(err) // neither an object nor a tombstone: a mistake in the program
			return
		}
		queue.Add(key)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	}
}
