package exercise

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Run(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	var running sync.Map
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				key, shutdown := queue.Get()
				if shutdown {
					return
				}
				queue.Done(key)
				if _, busy := running.LoadOrStore(key, true); busy {
					continue
				}
				syncHandler(key)
				running.Delete(key)
			}
		})
	}
	group.Wait()
}
