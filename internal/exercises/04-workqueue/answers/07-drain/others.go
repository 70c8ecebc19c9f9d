package exercise

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// IsItsOwnWorker syncs in the goroutine of its caller. The end of ctx starts the rest.
func IsItsOwnWorker(
	ctx context.Context,
	queue workqueue.TypedInterface[cache.ObjectName],
	limit time.Duration,
	syncHandler func(context.Context, cache.ObjectName),
) (left []cache.ObjectName) {
	syncCtx, cancelSyncs := context.WithCancel(context.Background())
	defer cancelSyncs()
	context.AfterFunc(ctx, func() {
		queue.ShutDown()
		time.AfterFunc(limit, cancelSyncs)
	})

	for {
		key, shutdown := queue.Get()
		if shutdown {
			return left
		}
		select {
		case <-syncCtx.Done():
			left = append(left, key)
		default:
			syncHandler(syncCtx, key)
		}
		queue.Done(key)
	}
}
