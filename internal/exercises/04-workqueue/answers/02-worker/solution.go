// Package exercise answers "The worker loop". README.md has the task.
package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Worker calls syncHandler for each key of the queue, one at a time. It returns when the queue is shut down and empty.
func Worker(queue workqueue.TypedInterface[cache.ObjectName], syncHandler func(cache.ObjectName)) {
	for {
		key, shutdown := queue.Get() // waits for a key
		if shutdown {
			return // and none is left: Get hands out all of them first
		}
		syncHandler(key)
		// Not earlier, or another worker could sync the key at the same time. Without it, no worker gets the key again.
		queue.Done(key)
	}
}
