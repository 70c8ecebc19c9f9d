package fakeserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// openWatch is a watch whose response has not ended. The server's mutex guards what follows the channel.
type openWatch struct {
	*call
	kind schema.GroupVersionKind
	wake chan struct{} // has a value when there is something to do

	pending []metav1.WatchEvent
	ended   bool // after the pending events
}

// watch answers a watch until it ends. Once it has begun, an error is an event.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, c *call) error {
	from, err := parseVersion(c.options.ResourceVersion)
	if err != nil {
		return unnamed(err.Error())
	}
	open := s.open(c, from)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, open)
	}()
	var timeout <-chan time.Time
	if c.options.TimeoutSeconds != nil && *c.options.TimeoutSeconds > 0 {
		timeout = time.After(time.Duration(*c.options.TimeoutSeconds) * time.Second)
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	encoder := json.NewEncoder(w)
	for {
		s.mu.Lock()
		events, ended := open.pending, open.ended
		open.pending = nil
		s.mu.Unlock()
		for _, event := range events {
			if encoder.Encode(event) != nil {
				return nil // the client has gone
			}
		}
		if ended || http.NewResponseController(w).Flush() != nil {
			return nil
		}
		select {
		case <-open.wake:
		case <-timeout:
			return nil
		case <-r.Context().Done():
			return nil
		case <-s.stopped:
			return nil
		}
	}
}

// open returns a watch with the events that it begins with.
func (s *Server) open(c *call, from int64) *openWatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &openWatch{call: c, kind: s.kinds[c.resource], wake: make(chan struct{}, 1)}
	streamsList := c.options.SendInitialEvents != nil && *c.options.SendInitialEvents
	switch {
	case streamsList && from > s.version:
		w.fail(tooLarge(from, s.version))
	case streamsList:
		for _, object := range s.at(c.resource, s.version) {
			if c.matches(object) {
				w.event(watch.Added, object)
			}
		}
		if c.options.AllowWatchBookmarks {
			w.bookmark(s.version, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		}
	case from > 0 && from < s.compacted:
		w.fail(apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, s.compacted)))
	case from > 0:
		for _, change := range s.history {
			if change.version > from {
				w.send(change)
			}
		}
	}
	if !w.ended { // one that only brings an error is never open
		s.watches[w] = struct{}{}
	}
	return w
}

// send adds the event that a change is for this watch. A change that moves an object into the selector, or out of it, is a
// creation or deletion there.
func (w *openWatch) send(c change) {
	if c.resource != w.resource {
		return
	}
	switch before, after := w.matches(c.before), w.matches(c.after); {
	case before && after:
		w.event(watch.Modified, c.after)
	case after:
		w.event(watch.Added, c.after)
	case before:
		w.event(watch.Deleted, withVersion(c.before, c.version))
	}
}

func (w *openWatch) event(kind watch.EventType, object *unstructured.Unstructured) {
	w.add(kind, w.view(object))
}

// bookmark adds an event whose object has nothing but the version, and the annotations given.
func (w *openWatch) bookmark(version int64, annotations map[string]string) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(w.kind)
	object.SetResourceVersion(strconv.FormatInt(version, 10))
	object.SetAnnotations(annotations)
	w.event(watch.Bookmark, object)
}

// fail adds an ERROR event and ends the watch.
func (w *openWatch) fail(err error) {
	var failure apierrors.APIStatus
	errors.As(err, &failure)
	status := failure.Status()
	status.TypeMeta = statusKind
	w.add(watch.Error, &status)
	w.ended = true
}

func (w *openWatch) add(kind watch.EventType, object runtime.Object) {
	w.pending = append(w.pending, metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Object: object}})
}

// notify wakes the goroutine that answers the request.
func (w *openWatch) notify() {
	select {
	case w.wake <- struct{}{}:
	default: // it has not taken the last one yet
	}
}
