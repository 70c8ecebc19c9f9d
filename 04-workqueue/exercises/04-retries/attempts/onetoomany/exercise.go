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
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		err := syncHandler(key)
		if err == nil {
			queue.Forget(key)
		} else if queue.NumRequeues(key) <= maxRetries {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
			report(key, err)
		}
		queue.Done(key)
	}
}
