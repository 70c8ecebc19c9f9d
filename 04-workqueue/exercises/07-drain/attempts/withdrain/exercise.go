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
	go func() {
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
	timer := time.AfterFunc(limit, cancelSyncs)
	defer timer.Stop()
	queue.ShutDownWithDrain()
	return left
}
