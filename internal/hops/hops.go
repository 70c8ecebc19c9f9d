// Package hops remembers when objects came off the wire, for a program that follows them on their way through it.
//
// The program tells of each arrival with [Log.Arrive], and asks at each later hop, where it has nothing but an
// object in its hands, which arrival that was: [Log.Find], and [Log.Stored] in a store's index function.
package hops

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Log is a memory of arrivals. The zero Log is empty; a nil one stays so.
type Log struct {
	mu       sync.Mutex
	arrivals map[string][]*Arrival // by kind and name; the newest is last
}

// Arrival is an object that came off the wire, with an event or in a list.
type Arrival struct {
	Kind  string
	Event watch.EventType
	At    time.Time

	object, version string
	stored          bool
}

// String returns what came and how long ago, such as "Pod default/mypod ADDED +0.12ms".
func (a *Arrival) String() string {
	return fmt.Sprintf("%s %s %s", a.object, a.Event, a.Since())
}

// Since returns how long ago the object came, such as "+0.12ms", or nothing if there is no such arrival.
func (a *Arrival) Since() string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("+%.2fms", float64(time.Since(a.At).Microseconds())/1000)
}

// Arrive remembers that an object came.
func (l *Log) Arrive(event watch.EventType, object any) *Arrival {
	a := &Arrival{Kind: Kind(object), Event: event, At: time.Now()}
	a.object, a.version = identify(object)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.arrivals == nil {
		l.arrivals = map[string][]*Arrival{}
	}
	// A slow hop may ask for an arrival long after it was stored, but not all can be kept.
	kept := slices.DeleteFunc(l.arrivals[a.object], func(a *Arrival) bool { return a.stored && time.Since(a.At) > time.Minute })
	l.arrivals[a.object] = append(kept, a)
	return a
}

// Find returns the last arrival of an object in this state, or nil.
func (l *Log) Find(object any) *Arrival {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.find(object)
}

func (l *Log) find(object any) *Arrival {
	name, version := identify(object)
	for _, a := range slices.Backward(l.arrivals[name]) {
		if a.version == version {
			return a
		}
	}
	return nil
}

// Stored returns the arrival that the store deals with when it calls an index function with object, or nil. It
// calls one for the state that comes in, and for the one that goes out. What goes out without another coming in
// was deleted; the queue keeps the order, so the first arrival that is not stored yet tells.
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

// Kind returns the kind of a typed object, which is the name of its Go type: kind and apiVersion are not filled.
func Kind(object any) string { return reflect.TypeOf(object).Elem().Name() }

func identify(object any) (name, version string) {
	metadata, err := meta.Accessor(object)
	if err != nil {
		return "", ""
	}
	return Kind(object) + " " + cache.MetaObjectToName(metadata).String(), metadata.GetResourceVersion()
}
