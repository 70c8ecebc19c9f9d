// Package informertrace follows objects on their way through an informer.
//
// A [Tracer] prints each hop, and tells it an [Observer], such as the live picture of package picture. Its [Log] remembers when
// each object arrived: [Log.Arrive] is called at the first hop, and each later hop, which is given nothing but the object,
// finds the arrival with [Log.Find], or with [Log.Stored] in a store's index function.
package informertrace

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Log is a memory of arrivals. The zero Log is empty.
type Log struct {
	mu        sync.Mutex
	arrivals  map[string][]*Arrival // by kind and name; the newest is last
	forgotten time.Time             // when old arrivals were removed last
}

// Arrival is an object that has arrived from the server, with an event or in a list.
type Arrival struct {
	Kind  string
	Event watch.EventType
	At    time.Time

	name                    cache.ObjectName
	object, resourceVersion string
	stored                  bool
}

// String returns what has arrived and how long ago, such as "Pod default/mypod ADDED +0.12ms".
func (a *Arrival) String() string {
	return fmt.Sprintf("%s %s %s", a.object, a.Event, a.Since())
}

// Since returns how long ago the object has arrived, such as "+0.12ms".
func (a *Arrival) Since() string {
	return fmt.Sprintf("+%.2fms", float64(time.Since(a.At).Microseconds())/1000)
}

// Arrive records that an object has arrived.
func (l *Log) Arrive(event watch.EventType, object any) *Arrival {
	a := &Arrival{Kind: Kind(object), Event: event, At: time.Now()}
	a.object, a.resourceVersion = identify(object)
	if metadata, err := apimeta.Accessor(object); err == nil {
		a.name = cache.MetaObjectToName(metadata)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.arrivals == nil {
		l.arrivals = map[string][]*Arrival{}
	}
	l.forget()
	l.arrivals[a.object] = append(l.arrivals[a.object], a)
	return a
}

// forget removes old arrivals, once a minute: a slow hop asks for an arrival long after it was stored, but the memory must
// not grow without end.
func (l *Log) forget() {
	if time.Since(l.forgotten) < time.Minute {
		return
	}
	l.forgotten = time.Now()
	for object, arrivals := range l.arrivals {
		kept := slices.DeleteFunc(arrivals, func(a *Arrival) bool { return a.stored && time.Since(a.At) > time.Minute })
		if len(kept) > 0 {
			l.arrivals[object] = kept
		} else {
			delete(l.arrivals, object)
		}
	}
}

// Find returns the last arrival of an object in this state, or nil.
func (l *Log) Find(object any) *Arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.find(object)
}

func (l *Log) find(object any) *Arrival {
	name, resourceVersion := identify(object)
	for _, a := range slices.Backward(l.arrivals[name]) {
		if a.resourceVersion == resourceVersion {
			return a
		}
	}
	return nil
}

// Stored returns the arrival that the store handles when it calls an index function with object, or nil. The store
// calls the function for the state that enters and for the state that leaves. A state that leaves while no other enters
// was deleted: the queue keeps the order, so the first arrival that is not stored yet is the deletion.
func (l *Log) Stored(object any) *Arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.find(object)
	if a != nil && a.stored {
		arrivals := l.arrivals[a.object]
		next := slices.IndexFunc(arrivals, func(a *Arrival) bool { return !a.stored })
		if next < 0 || arrivals[next].Event != watch.Deleted {
			return nil
		}
		a = arrivals[next]
	}
	if a != nil {
		a.stored = true
	}
	return a
}

// Kind returns the kind of a typed object: the name of its Go type. Typed objects have no kind and apiVersion in them.
func Kind(object any) string { return reflect.TypeOf(object).Elem().Name() }

func identify(object any) (name, resourceVersion string) {
	metadata, err := apimeta.Accessor(object)
	if err != nil {
		return "", ""
	}
	return Kind(object) + " " + cache.MetaObjectToName(metadata).String(), metadata.GetResourceVersion()
}
