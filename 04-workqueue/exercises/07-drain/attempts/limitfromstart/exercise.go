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
	syncCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	defer context.AfterFunc(ctx, queue.ShutDown)()
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return left
		}
		if syncCtx.Err() == nil {
			syncHandler(syncCtx, key)
		} else {
			left = append(left, key)
		}
		queue.Done(key)
	}
}
