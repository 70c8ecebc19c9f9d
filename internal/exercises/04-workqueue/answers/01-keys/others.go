package exercise

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// handler has the queue in place of three closures.
type handler struct {
	queue workqueue.TypedInterface[cache.ObjectName]
}

func (h handler) OnAdd(object any, _ bool) { h.queue.Add(cache.MetaObjectToName(object.(*corev1.Pod))) }

func (h handler) OnUpdate(_, object any) { h.queue.Add(cache.MetaObjectToName(object.(*corev1.Pod))) }

func (h handler) OnDelete(object any) {
	switch object := object.(type) {
	case *corev1.Pod:
		h.queue.Add(cache.MetaObjectToName(object))
	case cache.DeletedFinalStateUnknown:
		if key, err := cache.ParseObjectName(object.Key); err == nil {
			h.queue.Add(key)
		}
	}
}

// ImplementsTheInterface has a type with the queue in it, in place of three closures.
func ImplementsTheInterface(queue workqueue.TypedInterface[cache.ObjectName]) cache.ResourceEventHandler {
	return handler{queue}
}
