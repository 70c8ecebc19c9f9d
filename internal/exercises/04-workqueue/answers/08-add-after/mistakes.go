package exercise

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

type (
	queue       = workqueue.TypedRateLimitingInterface[cache.ObjectName]
	syncHandler = func(cache.ObjectName) (again time.Duration, err error)
)

// each syncs each key of the queue, and hands the result to handle.
func each(queue queue, sync syncHandler, handle func(key cache.ObjectName, again time.Duration, err error)) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		again, err := sync(key)
		handle(key, again, err)
		queue.Done(key)
	}
}

// SleepsInTheWorker keeps the worker from all other keys meanwhile.
func SleepsInTheWorker(queue queue, sync syncHandler) {
	each(queue, sync, func(key cache.ObjectName, again time.Duration, err error) {
		if err != nil {
			queue.AddRateLimited(key)
			return
		}
		queue.Forget(key)
		if again > 0 {
			time.Sleep(again)
			queue.Add(key)
		}
	})
}

// StartsATimerForEachSync adds one more timer at each change.
func StartsATimerForEachSync(queue queue, sync syncHandler) {
	each(queue, sync, func(key cache.ObjectName, again time.Duration, err error) {
		if err != nil {
			queue.AddRateLimited(key)
			return
		}
		queue.Forget(key)
		if again > 0 {
			time.AfterFunc(again, func() { queue.Add(key) })
		}
	})
}

// ComesBackOnlyOnce never adds a key again that it has added once.
func ComesBackOnlyOnce(queue queue, sync syncHandler) {
	waiting := map[cache.ObjectName]bool{}
	each(queue, sync, func(key cache.ObjectName, again time.Duration, err error) {
		if err != nil {
			queue.AddRateLimited(key)
			return
		}
		queue.Forget(key)
		if again > 0 && !waiting[key] { // changes must not add more
			waiting[key] = true
			queue.AddAfter(key, again)
		}
	})
}
