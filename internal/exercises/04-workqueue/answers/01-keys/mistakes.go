package exercise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// AssertsThatADeletedObjectIsAPod asserts a pod in OnDelete, which also gets tombstones.
func AssertsThatADeletedObjectIsAPod(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	return forEachEvent(func(object any) { queue.Add(cache.MetaObjectToName(object.(*corev1.Pod))) })
}

// TakesTheKeyFromTheTombstonesObject reads a tombstone's object, which can be missing. Its key is always there.
func TakesTheKeyFromTheTombstonesObject(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	return forEachEvent(func(object any) {
		if pod := podOf(object); pod != nil {
			queue.Add(cache.MetaObjectToName(pod))
		}
	})
}

// LeavesTheNamespaceOutOfTheKey adds the name only.
func LeavesTheNamespaceOutOfTheKey(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	return forEachEvent(func(object any) {
		if pod := podOf(object); pod != nil {
			queue.Add(cache.ObjectName{Name: pod.Name})
		}
	})
}

// CompletesThePod sets the kind, which is empty in a pod of an informer. The pod is the store's.
func CompletesThePod(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	return forEachEvent(func(object any) {
		if pod := podOf(object); pod != nil {
			pod.Kind = "Pod"
		}
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			queue.Add(key)
		}
	})
}

// DropsTheManagedFields saves memory, in a pod that is the store's. cache.SharedInformer has SetTransform for that.
func DropsTheManagedFields(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	return forEachEvent(func(object any) {
		if pod := podOf(object); pod != nil {
			pod.ManagedFields = nil
		}
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			queue.Add(key)
		}
	})
}

// WaitsForTheEndOfAPod leaves out the changes of a pod that is being deleted, because its deletion is an event, too.
func WaitsForTheEndOfAPod(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	add := func(object any) {
		if key, err := cache.DeletionHandlingObjectToName(object); err == nil {
			queue.Add(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: add,
		UpdateFunc: func(_, object any) {
			if object.(*corev1.Pod).DeletionTimestamp == nil {
				add(object)
			}
		},
		DeleteFunc: add,
	}
}

func forEachEvent(add func(object any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	}
}

// podOf returns the pod, or the one in the tombstone, or nil.
func podOf(object any) *corev1.Pod {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	pod, _ := object.(*corev1.Pod)
	return pod
}

// AddsEachKeyOnce remembers which keys it has added. A pod that is updated, or comes again under its name, has one of them.
func AddsEachKeyOnce(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	known := map[cache.ObjectName]bool{}
	return forEachEvent(func(object any) {
		key, err := cache.DeletionHandlingObjectToName(object)
		if err == nil && !known[key] {
			known[key] = true
			queue.Add(key)
		}
	})
}
