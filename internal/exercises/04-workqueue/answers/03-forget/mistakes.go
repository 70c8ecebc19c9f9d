package exercise

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// RetriesAtOnce retries without a delay, as fast as it can.
func RetriesAtOnce(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := syncHandler(key); err != nil {
			queue.Add(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

// CallsForgetAfterAFailureToo resets the count at each failure, so the delay never grows.
func CallsForgetAfterAFailureToo(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := syncHandler(key); err != nil {
			queue.AddRateLimited(key)
		}
		queue.Forget(key)
		queue.Done(key)
	}
}

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

// DoesNotRetry drops a key whose sync has failed.
func DoesNotRetry(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := syncHandler(key); err == nil {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}

// AddsTheKeyAfterASuccessToo syncs a key again and again that is done.
func AddsTheKeyAfterASuccessToo(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
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

// DoesNotForgetOneFailure forgets a key only if it has failed more than once.
func DoesNotForgetOneFailure(queue workqueue.TypedRateLimitingInterface[cache.ObjectName], syncHandler func(cache.ObjectName) error) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := syncHandler(key); err != nil {
			queue.AddRateLimited(key)
		} else if queue.NumRequeues(key) > 1 {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
