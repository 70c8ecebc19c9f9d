// Package exercise answers "Again in an hour, at once when it changes". README.md has the task.
package exercise

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Worker syncs each key of the queue. syncHandler returns after which time the key has to be synced again; 0: only when it is added. A
// key whose sync fails is retried, and again does not count. Worker returns when the queue is shut down and empty.
func Worker(
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName],
	syncHandler func(cache.ObjectName) (again time.Duration, err error),
) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		again, err := syncHandler(key)
		switch {
		case err != nil:
			queue.AddRateLimited(key)
		case again > 0: // AddAfter with 0 is Add: the key would come again and again
			queue.Forget(key)
			// A key waits once, until the earliest of its times. So the key can come a bit early, and changes add no syncs.
			queue.AddAfter(key, again)
		default:
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
