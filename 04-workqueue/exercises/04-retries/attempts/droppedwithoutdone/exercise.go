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
		if err != nil && queue.NumRequeues(key) >= maxRetries {
			queue.Forget(key)
			report(key, err)
			continue
		}
		if err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
