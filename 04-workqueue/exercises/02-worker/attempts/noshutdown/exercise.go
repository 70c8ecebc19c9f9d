package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Worker(queue workqueue.TypedInterface[cache.ObjectName], syncHandler func(cache.ObjectName)) {
	for {
		key, _ := queue.Get()
		syncHandler(key)
		queue.Done(key)
	}
}
