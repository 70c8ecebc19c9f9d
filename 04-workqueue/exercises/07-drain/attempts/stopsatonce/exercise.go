package exercise

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func Run(
	ctx context.Context,
	queue workqueue.TypedInterface[cache.ObjectName],
	limit time.Duration,
	syncHandler func(context.Context, cache.ObjectName),
) (left []cache.ObjectName) {
	syncCtx, cancelSyncs := context.WithCancel(context.WithoutCancel(ctx))
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
		if ctx.Err() == nil {
			syncHandler(syncCtx, key)
		} else {
			left = append(left, key)
		}
		queue.Done(key)
	}
}
