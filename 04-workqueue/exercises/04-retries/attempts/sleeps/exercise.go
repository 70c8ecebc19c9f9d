package exercise

import (
	"time"

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
		delay := 5 * time.Millisecond
		for range maxRetries {
			if err == nil {
				break
			}
			time.Sleep(delay)
			delay *= 2
			err = syncHandler(key)
		}
		if err != nil {
			report(key, err)
		}
		queue.Done(key)
	}
}
