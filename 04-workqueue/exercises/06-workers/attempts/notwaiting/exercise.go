package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Run(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	for range workers {
		go func() {
			for {
				key, shutdown := queue.Get()
				if shutdown {
					return
				}
				syncHandler(key)
				queue.Done(key)
			}
		}()
	}
}
