// Package exercise answers "Never two workers on one key". README.md has the task.
package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Run syncs the keys of the queue, up to workers of them at the same time. It returns when the queue is shut down and empty, and all
// syncs have ended.
func Run(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	// TODO: sometimes two syncs of the same key run at the same time, and sometimes hundreds of syncs.
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		go syncHandler(key)
		queue.Done(key)
	}
}
