package exercise

import (
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

type queue = workqueue.TypedRateLimitingInterface[cache.ObjectName]

// each syncs each key of the queue, and hands its error to handle.
func each(queue queue, syncHandler func(cache.ObjectName) error, handle func(key cache.ObjectName, err error)) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		handle(key, syncHandler(key))
		queue.Done(key)
	}
}

// HasOneCountForAllKeys counts the failures of all keys together.
func HasOneCountForAllKeys(
	queue queue, maxRetries int, syncHandler func(cache.ObjectName) error, report func(cache.ObjectName, error),
) {
	failures := 0
	each(queue, syncHandler, func(key cache.ObjectName, err error) {
		if err == nil {
			failures = 0
			queue.Forget(key)
		} else if failures < maxRetries {
			failures++
			queue.AddRateLimited(key)
		} else {
			failures = 0
			queue.Forget(key)
			report(key, err)
		}
	})
}

// SleepsAndRetriesInTheWorker keeps the worker from all other keys meanwhile.
func SleepsAndRetriesInTheWorker(
	queue queue, maxRetries int, syncHandler func(cache.ObjectName) error, report func(cache.ObjectName, error),
) {
	each(queue, syncHandler, func(key cache.ObjectName, err error) {
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
	})
}

// DropsAKeyWithoutDone calls no Done where it drops a key, so the key never comes back.
func DropsAKeyWithoutDone(
	queue queue, maxRetries int, syncHandler func(cache.ObjectName) error, report func(cache.ObjectName, error),
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

// RetriesOnceAtLeast takes the first failure for an accident, and retries it even if maxRetries is 0.
func RetriesOnceAtLeast(
	queue queue, maxRetries int, syncHandler func(cache.ObjectName) error, report func(cache.ObjectName, error),
) {
	each(queue, syncHandler, func(key cache.ObjectName, err error) {
		if err == nil {
			queue.Forget(key)
		} else if n := queue.NumRequeues(key); n == 0 || n < maxRetries {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
			report(key, err)
		}
	})
}
