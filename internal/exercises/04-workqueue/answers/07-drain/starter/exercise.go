// Package exercise answers "Drain". README.md has the task.
package exercise

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Run syncs the keys of the queue until ctx ends, and then those that are queued, for no longer than limit. When the limit is over,
// the context of the sync ends. Run returns the keys that are still queued then.
func Run(
	ctx context.Context,
	queue workqueue.TypedInterface[cache.ObjectName],
	limit time.Duration,
	syncHandler func(context.Context, cache.ObjectName),
) (left []cache.ObjectName) {
	// TODO: this never ends. When ctx ends, the queue has to shut down; and a hanging sync needs a limit.
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return left
		}
		syncHandler(ctx, key)
		queue.Done(key)
	}
}
