// handler.go: the informer's events fill the queue.
// Before: main.go. Next: controller.go.

package main

import (
	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/program"
)

// podHandler adds the names of pods to the queue, and does nothing else: the events behind it wait for a handler, and a
// queue can have any number of workers.
//
// It adds names, not objects: the object may have changed again when a worker is free, and the store has the newest.
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
			name := deleted.GetObjectName() // also if the informer has missed the pod's last state: see chapter 2's tombstones
			out.Print("delete pod:  ", name.Namespace, "/", name.Name)
			queue.Add(name)
		},
	}
}
