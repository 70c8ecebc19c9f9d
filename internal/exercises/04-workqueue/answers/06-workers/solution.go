// Package exercise answers "Never two workers on one key". README.md has the task.
package exercise

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Run syncs the keys of the queue, up to workers of them at the same time. It returns when the queue is shut down and empty, and all
// syncs have ended.
func Run(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	var group sync.WaitGroup
	for range workers { // each is the loop that you know: it has one key at a time
		group.Go(func() {
			for {
				key, shutdown := queue.Get() // wakes one of the workers that wait
				if shutdown {
					return
				}
				syncHandler(key)
				queue.Done(key)
			}
		})
	}
	group.Wait()
}
