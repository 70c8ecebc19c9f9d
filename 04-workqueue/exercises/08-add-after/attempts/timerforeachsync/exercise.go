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
		if err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
			if again > 0 {
				time.AfterFunc(again, func() { queue.Add(key) })
			}
		}
		queue.Done(key)
	}
}
