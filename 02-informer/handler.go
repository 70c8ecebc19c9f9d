// handler.go: the handlers, which an informer calls when its store has changed.
// Before: transform.go. Next: lister.go.

package main

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/shard"
)

// addHandlers registers a handler with each of the factory's two informers.
func addHandlers(factory informers.SharedInformerFactory, s shard.Shard, out *program.Printer) ([]registration, error) {
	deployments, err := factory.Apps().V1().Deployments().TypedInformer().AddTypedEventHandler(
		shard.Filter(s, out, handler[*appsv1.Deployment]{out}))
	if err != nil {
		return nil, err
	}
	pods, err := factory.Core().V1().Pods().TypedInformer().AddTypedEventHandler(shard.Filter(s, out, handler[*corev1.Pod]{out}))
	if err != nil {
		return nil, err
	}
	return []registration{{deployments, "Deployments", out}, {pods, "Pods", out}}, nil
}

// registration is a handler that an informer has accepted.
type registration struct {
	cache.ResourceEventHandlerRegistration
	resource string
	out      *program.Printer
}

// handler prints each change of an object of type T, such as *corev1.Pod.
type handler[T object] struct{ out *program.Printer }

// object is what this handler needs of T. An informer needs less.
type object interface {
	cache.Object
	metav1.Object
}

// OnAdd is called for an object that is new in the store.
func (h handler[T]) OnAdd(object T, isInInitialList bool) {
	note := ""
	if isInInitialList {
		note = " (first list)"
	}
	h.print("ADD", cache.MetaObjectToName(object), note)
}

// OnUpdate is called for an object that replaces an older state of it in the store.
func (h handler[T]) OnUpdate(old, object T) {
	note := fmt.Sprintf(" resourceVersion %s, from %s", object.GetResourceVersion(), old.GetResourceVersion())
	switch {
	case old == object:
		// The same pointer: nothing came from the server, the informer went through its store again.
		note = " (resync)"
	case old.GetResourceVersion() == object.GetResourceVersion():
		// Two copies of the same state: the informer has listed everything again.
		note = " (relist, unchanged)"
	case old.GetUID() != object.GetUID():
		// Another object of the same name: the old one was deleted while the informer could not see it.
		note = " (another UID: deleted and created again)"
	}
	h.print("UPDATE", cache.MetaObjectToName(object), note)
}

// OnDelete is called for an object that has left the store.
func (h handler[T]) OnDelete(deleted cache.DeletedObject[T]) {
	var none T
	note, last := "", deleted.OptionalObj
	if deleted.FinalStateUnknown != nil {
		// A relist came without the object. The informer has the state from before the gap, and not always even that.
		note = " (tombstone: last state unknown)"
		if last != none {
			note = fmt.Sprintf(" (tombstone: last seen at resourceVersion %s)", last.GetResourceVersion())
		}
	}
	h.print("DELETE", deleted.GetObjectName(), note)
}

func (h handler[T]) print(word string, name cache.ObjectName, note string) {
	h.out.Line(word, "%s %s%s", reflect.TypeFor[T]().Elem().Name(), name, note)
}
