package exercise

import (
	"context"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// ParallelizesTheLoop has client-go run the loop as often as there are workers, and wait for all of them.
func ParallelizesTheLoop(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	one := func(key cache.ObjectName) {
		defer queue.Done(key)
		syncHandler(key)
	}
	workqueue.ParallelizeUntil(context.Background(), workers, workers, func(int) {
		for key, shutdown := queue.Get(); !shutdown; key, shutdown = queue.Get() {
			one(key)
		}
	})
}
