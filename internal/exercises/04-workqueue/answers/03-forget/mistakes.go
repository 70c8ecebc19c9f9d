package exercise

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// CallsForgetInsteadOfDone takes Forget for the end of the sync.
func CallsForgetInsteadOfDone(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := syncHandler(key); err != nil {
			queue.AddRateLimited(key)
			queue.Done(key)
		} else {
			queue.Forget(key)
		}
	}
}

// HasOneDelayForAllKeys doubles it at each failure and resets it at each success, whichever key that is.
func HasOneDelayForAllKeys(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	const shortest = 5 * time.Millisecond
	delay := shortest
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := syncHandler(key); err != nil {
			queue.AddAfter(key, delay)
			delay *= 2
		} else {
			delay = shortest
		}
		queue.Done(key)
	}
}

// ForgetsAfterManyFailures lets no key wait for more than a few seconds: then it begins with 5 ms again.
func ForgetsAfterManyFailures(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		err := syncHandler(key)
		if err == nil || queue.NumRequeues(key) >= 10 {
			queue.Forget(key)
		}
		if err != nil {
			queue.AddRateLimited(key)
		}
		queue.Done(key)
	}
}
