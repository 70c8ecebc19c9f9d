package exercise

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// HasALimiterOfItsOwn has a limiter of its own, in place of the queue's. It needs Forget as much.
func HasALimiterOfItsOwn(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
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
