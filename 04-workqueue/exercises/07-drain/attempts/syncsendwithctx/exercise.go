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
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	var deadline <-chan time.Time
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return left
		}
		if ctx.Err() != nil && deadline == nil {
			deadline = time.After(limit)
		}
		select {
		case <-deadline:
			left = append(left, key)
		default:
			syncHandler(ctx, key)
		}
		queue.Done(key)
	}
}
