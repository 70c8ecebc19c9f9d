package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// DefersDoneInAFunction has a function for one key, so a defer runs at its end.
func DefersDoneInAFunction(queue workqueue.TypedInterface[cache.ObjectName], syncHandler func(cache.ObjectName)) {
	for processNextItem(queue, syncHandler) {
	}
}

// processNextItem syncs one key. A function of its own has room for a defer, which also runs if syncHandler panics.
func processNextItem(queue workqueue.TypedInterface[cache.ObjectName], syncHandler func(cache.ObjectName)) bool {
	key, shutdown := queue.Get()
	if shutdown {
		return false
	}
	defer queue.Done(key)
	syncHandler(key)
	return true
}
