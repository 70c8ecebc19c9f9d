package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Worker(
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName],
	maxRetries int,
	syncHandler func(cache.ObjectName) error,
	report func(cache.ObjectName, error),
) {
	failures := 0
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		err := syncHandler(key)
		if err == nil {
			failures = 0
			queue.Forget(key)
		} else if failures < maxRetries {
			failures++
			queue.AddRateLimited(key)
		} else {
			failures = 0
			queue.Forget(key)
			report(key, err)
		}
		queue.Done(key)
	}
}
