package exercise

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Worker syncs each key of the queue, and retries those whose sync has failed. It returns when the queue is shut down and empty.
func Worker(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	// A limiter of its own, in place of the queue's. It needs Forget as much.
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, time.Minute)
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		func() {
			defer queue.Done(key)
			if syncHandler(key) == nil {
				limiter.Forget(key)
				return
			}
			queue.AddAfter(key, limiter.When(key))
		}()
	}
}
