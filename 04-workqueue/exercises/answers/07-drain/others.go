package exercise

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// X X
func X(
	ctx context.Context,
	queue workqueue.TypedInterface[cache.ObjectName],
	limit time.Duration,
	syncHandler func(context.Context, cache.ObjectName),
) (left []cache.ObjectName) {
	// The worker is this goroutine. ctx's end starts the rest.
	syncCtx, cancelSyncs := context.WithCancel(context.Background())
	defer cancelSyncs()
	stop := context.AfterFunc(ctx, func() {
		queue.ShutDown()
		time.AfterFunc(limit, cancelSyncs)
	})
	defer stop()

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
