package exercise

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// handle calls f for each event until ctx ends.
func handle(ctx context.Context, pods cache.SharedIndexInformer, f func(pod *corev1.Pod)) error {
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { f(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { f(object.(*corev1.Pod)) },
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return pods.RemoveEventHandler(registration)
}

// work calls f for each key of the queue until it is shut down.
func work(queue workqueue.TypedInterface[cache.ObjectName], f func(key cache.ObjectName)) {
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		f(key)
		queue.Done(key)
	}
}

// handleAndWork calls handle and work, and waits for both.
func handleAndWork(
	ctx context.Context, pods cache.SharedIndexInformer, queue workqueue.TypedInterface[cache.ObjectName],
	add func(pod *corev1.Pod), f func(key cache.ObjectName),
) error {
	var worker sync.WaitGroup
	worker.Go(func() { work(queue, f) })
	err := handle(ctx, pods, add)
	queue.ShutDown()
	worker.Wait()
	return err
}

// saveNewest saves the state that the store has.
func saveNewest(pods cache.SharedIndexInformer, key cache.ObjectName, save func(*corev1.Pod)) {
	if object, exists, err := pods.GetIndexer().GetByKey(key.String()); err == nil && exists {
		save(object.(*corev1.Pod))
	}
}

// StartsAGoroutineForEachEvent has as many saves at the same time as there are events.
func StartsAGoroutineForEachEvent(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	return handle(ctx, pods, func(pod *corev1.Pod) { go save(pod) })
}

// LeavesOutWhatComesTooEarly saves a pod at most once a second, and never its last state.
func LeavesOutWhatComesTooEarly(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	saved := map[cache.ObjectName]time.Time{}
	return handle(ctx, pods, func(pod *corev1.Pod) {
		key := cache.MetaObjectToName(pod)
		if time.Since(saved[key]) < time.Second {
			return // saved a moment ago
		}
		saved[key] = time.Now()
		save(pod)
	})
}

// SavesTheNewestEvent keeps the newest state of an event for the worker. A pod that is deleted meanwhile has no newer one.
func SavesTheNewestEvent(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[cache.ObjectName]()
	var newest sync.Map
	add := func(pod *corev1.Pod) {
		newest.Store(cache.MetaObjectToName(pod), pod)
		queue.Add(cache.MetaObjectToName(pod))
	}
	return handleAndWork(ctx, pods, queue, add, func(key cache.ObjectName) {
		if pod, ok := newest.LoadAndDelete(key); ok && ctx.Err() == nil {
			save(pod.(*corev1.Pod))
		}
	})
}

// LeavesOutANameThatWasDeleted remembers which pods are gone, by their names.
func LeavesOutANameThatWasDeleted(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	var gone sync.Map
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(object any) {
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			gone.Store(key, true)
		}
	}}); err != nil {
		return err
	}
	queue := workqueue.NewTyped[cache.ObjectName]()
	add := func(pod *corev1.Pod) { queue.Add(cache.MetaObjectToName(pod)) }
	return handleAndWork(ctx, pods, queue, add, func(key cache.ObjectName) {
		if _, ok := gone.Load(key); !ok && ctx.Err() == nil {
			saveNewest(pods, key, save)
		}
	})
}

// LeavesTheWorkerBehind does not shut down the queue, so its worker waits for ever.
func LeavesTheWorkerBehind(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[cache.ObjectName]()
	saving := make(chan struct{}, 1)
	go work(queue, func(key cache.ObjectName) {
		saving <- struct{}{}
		saveNewest(pods, key, save)
		<-saving
	})
	err := handle(ctx, pods, func(pod *corev1.Pod) { queue.Add(cache.MetaObjectToName(pod)) })
	saving <- struct{}{} // when the save has ended
	return err
}

// known has the versions of the pods that are saved, of all calls of Run.
var known sync.Map

// RemembersTheSavesOfAnotherRun saves no pod that an earlier Run has saved, into another database.
func RemembersTheSavesOfAnotherRun(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[cache.ObjectName]()
	add := func(pod *corev1.Pod) { queue.Add(cache.MetaObjectToName(pod)) }
	return handleAndWork(ctx, pods, queue, add, func(key cache.ObjectName) {
		if ctx.Err() != nil {
			return
		}
		saveNewest(pods, key, func(pod *corev1.Pod) {
			if version, _ := known.Swap(pod.UID, pod.ResourceVersion); version != pod.ResourceVersion {
				save(pod)
			}
		})
	})
}

// LeavesOutAPodThatIsBeingDeleted takes it for deleted. It can run for a long time, and change.
func LeavesOutAPodThatIsBeingDeleted(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[cache.ObjectName]()
	add := func(pod *corev1.Pod) { queue.Add(cache.MetaObjectToName(pod)) }
	return handleAndWork(ctx, pods, queue, add, func(key cache.ObjectName) {
		saveNewest(pods, key, func(pod *corev1.Pod) {
			if ctx.Err() == nil && pod.DeletionTimestamp == nil {
				save(pod)
			}
		})
	})
}

// DoesNotKnowTombstones keeps the newest state of each pod until its deletion, but not until one that comes with a new list.
func DoesNotKnowTombstones(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[cache.ObjectName]()
	var states sync.Map
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				states.Delete(cache.MetaObjectToName(pod))
			}
		},
	})
	if err != nil {
		return err
	}
	add := func(pod *corev1.Pod) {
		states.Store(cache.MetaObjectToName(pod), pod)
		queue.Add(cache.MetaObjectToName(pod))
	}
	err = handleAndWork(ctx, pods, queue, add, func(key cache.ObjectName) {
		if pod, ok := states.LoadAndDelete(key); ok && ctx.Err() == nil {
			save(pod.(*corev1.Pod))
		}
	})
	if err != nil {
		return err
	}
	return pods.RemoveEventHandler(registration)
}

// RemembersEachPodForEver keeps the version that it has saved of each pod, so that it saves none twice, also when the pod is gone.
func RemembersEachPodForEver(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	queue := workqueue.NewTyped[cache.ObjectName]()
	saved := map[cache.ObjectName]string{}
	add := func(pod *corev1.Pod) { queue.Add(cache.MetaObjectToName(pod)) }
	return handleAndWork(ctx, pods, queue, add, func(key cache.ObjectName) {
		saveNewest(pods, key, func(pod *corev1.Pod) {
			if version := pod.ResourceVersion; ctx.Err() == nil && saved[key] != version {
				saved[key] = version
				save(pod)
			}
		})
	})
}
