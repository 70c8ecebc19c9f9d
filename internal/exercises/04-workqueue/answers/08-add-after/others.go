package exercise

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// HasTimersOfItsOwn has timers of its own, one for each key: a sync puts off the next one, which AddAfter cannot do.
func HasTimersOfItsOwn(
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName],
	syncHandler func(cache.ObjectName) (again time.Duration, err error),
) {
	timers := map[cache.ObjectName]*time.Timer{} // one that fires after the end adds its key in vain
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if timer := timers[key]; timer != nil {
			timer.Stop()
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
