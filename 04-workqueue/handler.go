package main

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// printer prints what happens to objects.
type printer struct {
	out io.Writer
}

// podHandler puts the names of pods into the queue, and does nothing else: a handler that works keeps the events
// behind it waiting, a queue has as many workers as one likes.
//
// Names, not objects: until a worker gets to it the object may have changed again, and the store has the newest.
func podHandler(p printer, queue workqueue.TypedRateLimitingInterface[cache.ObjectName]) cache.TypedResourceEventHandler[*corev1.Pod] {
	return coreinformers.PodHandlerFuncs{
		AddFunc: func(pod *corev1.Pod) {
			name := cache.MetaObjectToName(pod)
			io.WriteString(p.out, "add pod:  "+name.Namespace+"/"+name.Name+"\n")
			queue.Add(name)
		},
		UpdateFunc: func(old, pod *corev1.Pod) {
			name := cache.MetaObjectToName(pod)
			io.WriteString(p.out, "update pod:  "+name.Namespace+"/"+name.Name+"\n")
			queue.Add(name)
		},
		DeleteFunc: func(deleted coreinformers.DeletedPod) {
			name := deleted.GetObjectName() // also where the pod itself was missed: see chapter 2's tombstones
			io.WriteString(p.out, "delete pod:  "+name.Namespace+"/"+name.Name+"\n")
			queue.Add(name)
		},
	}
}

// line prints what happened, in one word, and to what.
func (p printer) line(word, format string, args ...any) {
	fmt.Fprintf(p.out, "%-10s "+format+"\n", append([]any{word}, args...)...)
}
