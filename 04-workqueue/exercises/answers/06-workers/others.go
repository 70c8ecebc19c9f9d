package exercise

import (
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// LimitsAGroup takes the keys out in one loop, and each gets a goroutine of its own.
func LimitsAGroup(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	var group errgroup.Group
	group.SetLimit(workers)
	for {
		key, shutdown := queue.Get()
		if shutdown {
			break
		}
		group.Go(func() error { // waits while the limit is reached
			defer queue.Done(key) // at the end of the sync, not at the end of the loop
			syncHandler(key)
			return nil
		})
	}
	_ = group.Wait()
}
