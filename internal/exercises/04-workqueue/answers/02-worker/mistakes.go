package exercise

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// DoesNotWaitForTheLastSync has one sync at a time, in a goroutine of its own, and returns without it.
func DoesNotWaitForTheLastSync(queue workqueue.TypedInterface[cache.ObjectName], syncHandler func(cache.ObjectName)) {
	var last sync.WaitGroup
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		last.Wait()
		last.Go(func() {
			syncHandler(key)
			queue.Done(key)
		})
	}
}

// SyncsEachKeyTwice syncs it once more, in case that it has changed meanwhile. If it has, the queue hands it out again.
func SyncsEachKeyTwice(queue workqueue.TypedInterface[cache.ObjectName], syncHandler func(cache.ObjectName)) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		syncHandler(key)
		syncHandler(key)
		queue.Done(key)
	}
}

// AsksLenBeforeDone does not see a key that was added again during its sync: it is in the queue only after Done.
func AsksLenBeforeDone(queue workqueue.TypedInterface[cache.ObjectName], syncHandler func(cache.ObjectName)) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		syncHandler(key)
		last := queue.ShuttingDown() && queue.Len() == 0
		queue.Done(key)
		if last {
			return
		}
	}
}
