package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// CountsTheRetriesItself has a count for each key, beside the limiter's. It needs Forget as much.
func CountsTheRetriesItself(
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName],
	maxRetries int,
	syncHandler func(cache.ObjectName) error,
	report func(cache.ObjectName, error),
) {
	retries := map[cache.ObjectName]int{} // of one worker only: with several, it would need a lock
	processNextItem := func() bool {
		key, shutdown := queue.Get()
		if shutdown {
			return false
		}
		defer queue.Done(key)
		err := syncHandler(key)
		if err != nil && retries[key] < maxRetries {
			retries[key]++
			queue.AddRateLimited(key)
			return true
		}
		queue.Forget(key)
		if err != nil {
			report(key, err)
		}
		delete(retries, key)
		return true
	}
	for processNextItem() {
	}
}
