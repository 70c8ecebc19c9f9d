// Package exercise answers "The delay that never shrinks". README.md has the task.
package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Worker syncs each key of the queue, and retries those whose sync has failed. It returns when the queue is shut down and empty.
func Worker(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := syncHandler(key); err != nil {
			queue.AddRateLimited(key)
		} else {
			// It clears the count of failures, and nothing else. After a failure it would keep the delay from growing.
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
