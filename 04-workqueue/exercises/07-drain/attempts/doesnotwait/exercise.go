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
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			syncHandler(syncCtx, key)
			queue.Done(key)
		}
	}()
	<-ctx.Done()
	queue.ShutDown()
	select {
	case <-drained:
	case <-time.After(limit):
	}
	return left
}
