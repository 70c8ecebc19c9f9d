// store.go: what the program has printed, to find out after a gap what it has missed.
// Before: main.go. Next: list.go.

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/fielddiff"
)

// store is what the program has printed so far. Without it, deletions during a gap would stay unknown, and so would what
// an event changes.
type store map[cache.ObjectName]entry

type entry struct {
	object          runtime.Object
	uid             types.UID
	resourceVersion string
	phase           corev1.PodPhase // of pods; empty for other resources
}

func (e entry) String() string {
	return strings.TrimSpace(fmt.Sprintf("resourceVersion %s %s", e.resourceVersion, e.phase))
}

// entryOf returns an object's name and entry. The kind is not in it: objects of Go types have no apiVersion and kind,
// because the type says both.
func entryOf(object runtime.Object) (cache.ObjectName, entry, error) {
	metadata, err := apimeta.Accessor(object)
	if err != nil {
		return cache.ObjectName{}, entry{}, err
	}
	e := entry{object: object, uid: metadata.GetUID(), resourceVersion: metadata.GetResourceVersion()}
	if pod, ok := object.(*corev1.Pod); ok {
		e.phase = pod.Status.Phase
	}
	return cache.MetaObjectToName(metadata), e, nil
}

// update prints an event and updates the store.
func (w *watcher) update(event watch.EventType, name cache.ObjectName, e entry) {
	w.out.Line(string(event), "%s %s%s", name, e, fielddiff.Between(w.store[name].object, e.object))
	if event == watch.Deleted {
		delete(w.store, name)
	} else {
		w.store[name] = e
	}
	w.resourceVersion = e.resourceVersion
}

// replace replaces the store with a new list and prints it: the first time all of it, later the differences, which the
// watch has missed. It sees the outcome only: an object that was created and deleted in between leaves no trace.
func (w *watcher) replace(listed store, resourceVersion, how string, start time.Time) error {
	if resourceVersion == "" {
		return errNoVersion
	}
	for _, name := range sorted(w.store) {
		// The same name with another UID is another object: the one in the store was deleted.
		if listed[name].uid != w.store[name].uid {
			w.out.Line("MISSED", "%s %s %s", watch.Deleted, name, w.store[name])
			delete(w.store, name)
		}
	}
	for _, name := range sorted(listed) {
		old, exists := w.store[name]
		switch {
		case w.store == nil:
			w.out.Line("LISTED", "%s %s", name, listed[name])
		case !exists:
			w.out.Line("MISSED", "%s %s %s", watch.Added, name, listed[name])
		case old.resourceVersion != listed[name].resourceVersion:
			w.out.Line("MISSED", "%s %s %s%s", watch.Modified, name, listed[name], fielddiff.Between(old.object, listed[name].object))
		}
	}
	took := time.Since(start).Round(time.Millisecond)
	w.out.Line("SYNCED", "%d object(s) at resourceVersion %s, %s in %s", len(listed), resourceVersion, how, took)
	w.store, w.resourceVersion = listed, resourceVersion
	return nil
}

func sorted(s store) []cache.ObjectName {
	return slices.SortedFunc(maps.Keys(s), func(a, b cache.ObjectName) int {
		return strings.Compare(a.String(), b.String())
	})
}
