package main

import (
	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/program"
)

// podHandler puts the names of pods into the queue, and does nothing else: a handler that works keeps the events
// behind it waiting, a queue has as many workers as one likes.
//
// Names, not objects: until a worker gets to it the object may have changed again, and the store has the newest.
func podHandler(out *program.Printer, queue workqueue.TypedInterface[cache.ObjectName]) cache.TypedResourceEventHandler[*corev1.Pod] {
	return coreinformers.PodHandlerFuncs{
		AddFunc: func(pod *corev1.Pod) {
			name := cache.MetaObjectToName(pod)
			out.Print("add pod:  ", name.Namespace, "/", name.Name)
			queue.Add(name)
		},
		UpdateFunc: func(old, pod *corev1.Pod) {
			name := cache.MetaObjectToName(pod)
			out.Print("update pod:  ", name.Namespace, "/", name.Name)
			queue.Add(name)
		},
		DeleteFunc: func(deleted coreinformers.DeletedPod) {
			name := deleted.GetObjectName() // also where the pod itself was missed: see chapter 2's tombstones
			out.Print("delete pod:  ", name.Namespace, "/", name.Name)
			queue.Add(name)
		},
	}
}
