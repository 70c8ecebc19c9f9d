package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// world is what the program has printed so far: without it nobody could tell, after a gap, what was deleted
// meanwhile. Informers (chapter 2) keep whole objects in its place and call it the store.
type world map[cache.ObjectName]seen

type seen struct {
	uid             types.UID
	resourceVersion string
	phase           corev1.PodPhase // of pods; empty for other resources
}

func (s seen) String() string {
	return strings.TrimSpace(fmt.Sprintf("resourceVersion %s %s", s.resourceVersion, s.phase))
}

// look returns the name of an object and what the world keeps of it. Not the kind: objects of Go types come
// without apiVersion and kind, because the type says both.
func look(object runtime.Object) (cache.ObjectName, seen, error) {
	metadata, err := meta.Accessor(object)
	if err != nil {
		return cache.ObjectName{}, seen{}, err
	}
	s := seen{uid: metadata.GetUID(), resourceVersion: metadata.GetResourceVersion()}
	if pod, ok := object.(*corev1.Pod); ok {
		s.phase = pod.Status.Phase
	}
	return cache.MetaObjectToName(metadata), s, nil
}

// apply prints an event and brings the world up to date with it.
func (w *watcher) apply(event watch.EventType, name cache.ObjectName, s seen) {
	w.line(string(event), "%s %s", name, s)
	if event == watch.Deleted {
		delete(w.world, name)
	} else {
		w.world[name] = s
	}
	w.version = s.resourceVersion
}

// replace puts a freshly listed world in place of the printed one and prints it: all of it the first time,
// later only what is different, which is what the watch has missed.
//
// It knows the outcome, not the way: an object that came and went in between has left no trace.
func (w *watcher) replace(listed world, version, how string, start time.Time) {
	for _, name := range sorted(w.world) {
		// The same name with another UID is another object: the one we knew was deleted.
		if listed[name].uid != w.world[name].uid {
			w.line("MISSED", "%s %s %s", watch.Deleted, name, w.world[name])
			delete(w.world, name)
		}
	}
	for _, name := range sorted(listed) {
		old, known := w.world[name]
		switch {
		case w.world == nil:
			w.line("LISTED", "%s %s", name, listed[name])
		case !known:
			w.line("MISSED", "%s %s %s", watch.Added, name, listed[name])
		case old.resourceVersion != listed[name].resourceVersion:
			w.line("MISSED", "%s %s %s", watch.Modified, name, listed[name])
		}
	}
	w.line("SYNCED", "%d object(s) at resourceVersion %s, %s in %s", len(listed), version, how, time.Since(start).Round(time.Millisecond))
	w.world, w.version = listed, version
}

func sorted(w world) []cache.ObjectName {
	return slices.SortedFunc(maps.Keys(w), func(a, b cache.ObjectName) int {
		return strings.Compare(a.String(), b.String())
	})
}

// line prints what happened, in one word, and to what.
func (w *watcher) line(word, format string, args ...any) {
	fmt.Fprintf(w.out, "%-10s "+format+"\n", append([]any{word}, args...)...)
}
