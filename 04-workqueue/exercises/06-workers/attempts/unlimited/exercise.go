package exercise

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Run(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	var group sync.WaitGroup
	for {
		key, shutdown := queue.Get()
		if shutdown {
			break
		}
		group.Go(func() {
			defer queue.Done(key)
			syncHandler(key)
		})
	}
	group.Wait()
}
