// Package exercise answers "The delay that never shrinks". README.md has the task.
package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Worker syncs each key of the queue, and retries those whose sync has failed. It returns when the queue is shut down and empty.
func Worker(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	// TODO: after some failures, a key waits for minutes. Find out why.
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := syncHandler(key); err != nil {
			queue.AddRateLimited(key)
		}
		queue.Done(key)
	}
}
