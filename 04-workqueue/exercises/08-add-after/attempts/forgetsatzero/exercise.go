package exercise

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

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
		case again > 0:
			queue.AddAfter(key, again)
		default:
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
