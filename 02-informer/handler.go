package main

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
)

// handler prints what an informer tells it of objects of type T, such as *corev1.Pod.
type handler[T object] struct {
	out    *program.Printer
	tracer *tracer
}

// object is what this handler needs of T. An informer could do with less.
type object interface {
	cache.Object
	metav1.Object
}

// OnAdd is told of an object that is new in the store.
func (h handler[T]) OnAdd(object T, isInInitialList bool) {
	note := ""
	if isInInitialList {
		note = " (first list)"
	}
	h.tell("ADD", cache.MetaObjectToName(object), note, object)
}

// OnUpdate is told of an object that takes the place of an older state of it in the store.
func (h handler[T]) OnUpdate(old, object T) {
	note := fmt.Sprintf(" resourceVersion %s, from %s", object.GetResourceVersion(), old.GetResourceVersion())
	switch {
	case old == object:
		// The very same pointer: nothing came from the server, the store was played back.
		note = " (resync)"
	case old.GetResourceVersion() == object.GetResourceVersion():
		// Two copies of the same state: the server was asked for everything again.
		note = " (relist, unchanged)"
	case old.GetUID() != object.GetUID():
		// Not a change of the object that we knew: that one was deleted, while we could not see it.
		note = " (another UID: deleted and created again)"
	}
	h.tell("UPDATE", cache.MetaObjectToName(object), note, object)
}

// OnDelete is told of an object that has left the store.
func (h handler[T]) OnDelete(deleted cache.DeletedObject[T]) {
	var none T
	note, last := "", deleted.OptionalObj
	if deleted.FinalStateUnknown != nil {
		// A relist came without it. What we have is its state from before the gap, and not always even that.
		note = " (tombstone: last state unknown)"
		if last != none {
			note = fmt.Sprintf(" (tombstone: last seen at resourceVersion %s)", last.GetResourceVersion())
		}
	}
	h.tell("DELETE", deleted.GetObjectName(), note, last)
}

func (h handler[T]) tell(word string, name cache.ObjectName, note string, object T) {
	var none T
	if object != none {
		note += h.tracer.since(object)
	}
	h.out.Line(word, "%s %s%s", reflect.TypeFor[T]().Elem().Name(), name, note)
}
