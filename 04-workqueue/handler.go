package main

import (
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// printer prints what happens to objects. Handlers and workers print at the same time: no line gets into another.
type printer struct {
	out io.Writer

	mu     sync.Mutex
	buffer []byte
}

// podHandler puts the names of pods into the queue, and does nothing else: a handler that works keeps the events
// behind it waiting, a queue has as many workers as one likes.
//
// Names, not objects: until a worker gets to it the object may have changed again, and the store has the newest.
func podHandler(p *printer, queue workqueue.TypedInterface[cache.ObjectName]) cache.TypedResourceEventHandler[*corev1.Pod] {
	return coreinformers.PodHandlerFuncs{
		AddFunc: func(pod *corev1.Pod) {
			name := cache.MetaObjectToName(pod)
			p.print("add pod:  ", name.Namespace, "/", name.Name)
			queue.Add(name)
		},
		UpdateFunc: func(old, pod *corev1.Pod) {
			name := cache.MetaObjectToName(pod)
			p.print("update pod:  ", name.Namespace, "/", name.Name)
			queue.Add(name)
		},
		DeleteFunc: func(deleted coreinformers.DeletedPod) {
			name := deleted.GetObjectName() // also where the pod itself was missed: see chapter 2's tombstones
			p.print("delete pod:  ", name.Namespace, "/", name.Name)
			queue.Add(name)
		},
	}
}

// line prints what happened, in one word, and to what.
func (p *printer) line(word, format string, args ...any) {
	p.print(fmt.Sprintf("%-10s "+format, append([]any{word}, args...)...))
}

// print prints a line. It is made for the ones that come with each event: it allocates nothing.
func (p *printer) print(parts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buffer = p.buffer[:0]
	for _, part := range parts {
		p.buffer = append(p.buffer, part...)
	}
	p.buffer = append(p.buffer, '\n')
	p.out.Write(p.buffer)
}
