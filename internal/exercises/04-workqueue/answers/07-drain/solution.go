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
	// The context of the syncs keeps ctx's values, and does not end with it.
	syncCtx, cancelSyncs := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelSyncs()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			if syncCtx.Err() == nil {
				syncHandler(syncCtx, key)
			} else {
				left = append(left, key)
			}
			queue.Done(key)
		}
	}()

	<-ctx.Done()
	// Not ShutDownWithDrain: it waits only for the key that is being synced. The worker itself says when all are.
	queue.ShutDown()
	timer := time.AfterFunc(limit, cancelSyncs)
	defer timer.Stop()
	<-drained
	return left
}
