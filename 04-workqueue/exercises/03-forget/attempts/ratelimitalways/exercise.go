package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Worker(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := syncHandler(key); err == nil {
			queue.Forget(key)
		}
		queue.AddRateLimited(key)
		queue.Done(key)
	}
}
