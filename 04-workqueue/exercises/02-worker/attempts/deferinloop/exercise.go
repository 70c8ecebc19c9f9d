package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Worker(queue workqueue.TypedInterface[cache.ObjectName], syncHandler func(cache.ObjectName)) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		defer queue.Done(key)
		syncHandler(key)
	}
}
