// Package exercise answers "The worker loop". README.md has the task.
package exercise

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Worker calls syncHandler for each key of the queue, one at a time. It returns when the queue is shut down and empty.
func Worker(queue workqueue.TypedInterface[cache.ObjectName], syncHandler func(cache.ObjectName)) {
	// TODO: a loop. These are the queue's methods: Add, Len, Get, Done, ShutDown, ShutDownWithDrain, ShuttingDown.
}
