package exercise

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

type (
	queue       = workqueue.TypedInterface[cache.ObjectName]
	syncHandler = func(context.Context, cache.ObjectName)
)

// each calls handle for each key until the queue is shut down and empty.
func each(queue queue, handle func(key cache.ObjectName)) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		handle(key)
		queue.Done(key)
	}
}

// limited shuts the queue down when ctx ends. The context that it returns ends when the limit is over.
func limited(ctx context.Context, queue queue, limit time.Duration) (syncCtx context.Context, cancelSyncs func()) {
	syncCtx, cancelSyncs = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		queue.ShutDown()
		time.AfterFunc(limit, cancelSyncs)
	})
	return syncCtx, cancelSyncs
}

// BeginsNoSyncAfterCtxHasEnded returns keys for which there was time.
func BeginsNoSyncAfterCtxHasEnded(
	ctx context.Context, queue queue, limit time.Duration, sync syncHandler,
) (left []cache.ObjectName) {
	syncCtx, cancelSyncs := limited(ctx, queue, limit)
	defer cancelSyncs()
	each(queue, func(key cache.ObjectName) {
		if ctx.Err() == nil {
			sync(syncCtx, key)
		} else {
			left = append(left, key)
		}
	})
	return left
}

// BeginsTheLimitAtTheStart begins the time of limit when Run is called.
func BeginsTheLimitAtTheStart(
	ctx context.Context, queue queue, limit time.Duration, sync syncHandler,
) (left []cache.ObjectName) {
	context.AfterFunc(ctx, queue.ShutDown)
	syncCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	each(queue, func(key cache.ObjectName) {
		if syncCtx.Err() == nil {
			sync(syncCtx, key)
		} else {
			left = append(left, key)
		}
	})
	return left
}

// DoesNotWaitForTheLastSync returns when the limit is over, while a sync still runs.
func DoesNotWaitForTheLastSync(
	ctx context.Context, queue queue, limit time.Duration, sync syncHandler,
) (left []cache.ObjectName) {
	syncCtx, cancelSyncs := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelSyncs()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		each(queue, func(key cache.ObjectName) { sync(syncCtx, key) })
	}()
	<-ctx.Done()
	queue.ShutDown()
	select {
	case <-drained:
	case <-time.After(limit):
	}
	return left
}

// WaitsWithShutDownWithDrain waits for the key that is being synced only.
func WaitsWithShutDownWithDrain(
	ctx context.Context, queue queue, limit time.Duration, sync syncHandler,
) (left []cache.ObjectName) {
	syncCtx, cancelSyncs := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelSyncs()
	go each(queue, func(key cache.ObjectName) {
		if syncCtx.Err() == nil {
			sync(syncCtx, key)
		} else {
			left = append(left, key)
		}
	})
	<-ctx.Done()
	timer := time.AfterFunc(limit, cancelSyncs)
	defer timer.Stop()
	queue.ShutDownWithDrain()
	return left
}

// LimitsOnlyWhatBeginsLater gives a sync that begins before the end of ctx a context without a limit.
func LimitsOnlyWhatBeginsLater(
	ctx context.Context, queue queue, limit time.Duration, sync syncHandler,
) (left []cache.ObjectName) {
	limitedCtx, cancelSyncs := limited(ctx, queue, limit)
	defer cancelSyncs()
	each(queue, func(key cache.ObjectName) {
		switch {
		case ctx.Err() == nil:
			sync(context.WithoutCancel(ctx), key)
		case limitedCtx.Err() == nil:
			sync(limitedCtx, key)
		default:
			left = append(left, key)
		}
	})
	return left
}

// SleepsInPlaceOfWaiting gives the last sync a second to end. It may need longer.
func SleepsInPlaceOfWaiting(
	ctx context.Context, queue queue, limit time.Duration, sync syncHandler,
) (left []cache.ObjectName) {
	syncCtx, cancelSyncs := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelSyncs()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		each(queue, func(key cache.ObjectName) {
			if syncCtx.Err() == nil {
				sync(syncCtx, key)
			} else {
				left = append(left, key)
			}
		})
	}()
	<-ctx.Done()
	queue.ShutDown()
	select {
	case <-drained:
	case <-time.After(limit):
		cancelSyncs()
		time.Sleep(time.Second)
	}
	return left
}

// HearsOfTheEndOnlyDuringASync waits in Get for ever if ctx ends there.
func HearsOfTheEndOnlyDuringASync(
	ctx context.Context, queue queue, limit time.Duration, sync syncHandler,
) (left []cache.ObjectName) {
	syncCtx, cancelSyncs := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelSyncs()
	each(queue, func(key cache.ObjectName) {
		if syncCtx.Err() != nil {
			left = append(left, key)
			return
		}
		stop := context.AfterFunc(ctx, func() {
			if !queue.ShuttingDown() {
				queue.ShutDown()
				time.AfterFunc(limit, cancelSyncs)
			}
		})
		defer stop()
		sync(syncCtx, key)
	})
	return left
}

// ReturnsNoKeyThatWasSynced takes a key for done that was synced before, though it was added again.
func ReturnsNoKeyThatWasSynced(
	ctx context.Context, queue queue, limit time.Duration, sync syncHandler,
) (left []cache.ObjectName) {
	syncCtx, cancelSyncs := limited(ctx, queue, limit)
	defer cancelSyncs()
	synced := map[cache.ObjectName]bool{}
	each(queue, func(key cache.ObjectName) {
		if syncCtx.Err() == nil {
			sync(syncCtx, key)
			synced[key] = true
		} else if !synced[key] {
			left = append(left, key)
		}
	})
	return left
}
