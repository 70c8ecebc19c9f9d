// Package exercise answers "Retries with an end". README.md has the task.
package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Worker syncs each key of the queue. A key whose sync fails is retried at most maxRetries times, then reported with its last error
// and dropped. Worker returns when the queue is shut down and empty.
func Worker(
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName],
	maxRetries int,
	syncHandler func(cache.ObjectName) error,
	report func(cache.ObjectName, error),
) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		err := syncHandler(key)
		switch {
		case err == nil:
			queue.Forget(key)
		case queue.NumRequeues(key) < maxRetries: // the limiter counts the failures of each key: no need for a second count
			queue.AddRateLimited(key)
		default:
			// Without Forget the count stays, and after its next event the key would be dropped at its first failure.
			queue.Forget(key)
			report(key, err)
		}
		queue.Done(key) // in all three cases
	}
}
