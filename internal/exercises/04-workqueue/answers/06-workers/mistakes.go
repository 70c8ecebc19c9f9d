package exercise

import (
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// SyncsOneKeyAfterTheOther has one worker, whatever it is asked for.
func SyncsOneKeyAfterTheOther(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		syncHandler(key)
		queue.Done(key)
	}
}

// StartsAGoroutineForEachKey has as many syncs at the same time as there are keys.
func StartsAGoroutineForEachKey(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	var group sync.WaitGroup
	for {
		key, shutdown := queue.Get()
		if shutdown {
			break
		}
		group.Go(func() {
			defer queue.Done(key)
			syncHandler(key)
		})
	}
	group.Wait()
}

// WaitsForAWholeBatch takes some keys, and takes no others before the slowest of their syncs has ended.
func WaitsForAWholeBatch(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	for {
		var batch sync.WaitGroup
		for i := 0; i < workers && (i == 0 || queue.Len() > 0); i++ {
			key, shutdown := queue.Get()
			if shutdown {
				batch.Wait()
				return
			}
			batch.Go(func() {
				syncHandler(key)
				queue.Done(key)
			})
		}
		batch.Wait()
	}
}

// ReturnsWithTheFirstWorker does not wait for the others, whose syncs may take longer.
func ReturnsWithTheFirstWorker(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	returned := make(chan bool, workers)
	for range workers {
		go func() {
			for {
				key, shutdown := queue.Get()
				if shutdown {
					returned <- true
					return
				}
				syncHandler(key)
				queue.Done(key)
			}
		}()
	}
	<-returned
}

// StopsAskingAtTheShutdown has one loop that takes the keys out, and it ends while syncs run: a key that is added again during its
// sync is queued by Done, and nobody calls Get any more.
func StopsAskingAtTheShutdown(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	var group errgroup.Group
	group.SetLimit(workers)
	for {
		key, shutdown := queue.Get()
		if shutdown {
			break
		}
		group.Go(func() error { // waits while the limit is reached
			defer queue.Done(key)
			syncHandler(key)
			return nil
		})
	}
	_ = group.Wait()
}

// WaitsForItsOwnWorkerOnly is one of the workers, and does not wait for the others.
func WaitsForItsOwnWorkerOnly(queue workqueue.TypedInterface[cache.ObjectName], workers int, syncHandler func(cache.ObjectName)) {
	worker := func() {
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			syncHandler(key)
			queue.Done(key)
		}
	}
	for range workers - 1 {
		go worker()
	}
	worker()
}
