package exercise

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Worker syncs each key of the queue. syncHandler returns after which time the key has to be synced again; 0: only when it is added. A
// key whose sync fails is retried, and again does not count. Worker returns when the queue is shut down and empty.
func Worker(
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName],
	syncHandler func(cache.ObjectName) (again time.Duration, err error),
) {
	// Timers of its own, one for each key: a sync puts off the next one, which AddAfter cannot do.
	timers := map[cache.ObjectName]*time.Timer{}
	defer func() {
		for _, timer := range timers {
			timer.Stop()
		}
	}()
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if timer, ok := timers[key]; ok {
			timer.Stop()
			delete(timers, key)
		}
		if again, err := syncHandler(key); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
			if again > 0 {
				timers[key] = time.AfterFunc(again, func() { queue.Add(key) })
			}
		}
		queue.Done(key)
	}
}
