// watch.go: Watch, and what to do when it ends.
// Before: list.go. Next: resource.go.

package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/connect"
	"example.com/client-go-workbook/internal/program"
)

// watcher prints a resource's objects and keeps its store equal to the server's state.
type watcher struct {
	listWatch *cache.ListWatch
	pageSize  uint32
	stream    bool
	timeout   time.Duration
	out       *program.Printer

	store           store  // nil before the first list
	resourceVersion string // of the last list or event; empty when the next request must be a list
}

// errNoVersion is about a list that no watch can continue.
var errNoVersion = errors.New("the list has no resourceVersion, so a watch has nowhere to start: choose another --resource")

// run lists and watches until ctx ends. It gives up only before the first list, if the server rejects a request as wrong, or
// sends a list that cannot be watched from: then a retry does not help.
func (w *watcher) run(ctx context.Context) error {
	backoff := firstDelay
	for {
		start, before := time.Now(), w.resourceVersion
		var err error
		if w.resourceVersion == "" && !w.stream {
			err = w.list(ctx)
		} else {
			err = w.watch(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		if w.store == nil && (isWrongRequest(err) || errors.Is(err, errNoVersion)) {
			return err
		}
		// An event or a list changes the resourceVersion. A watch without events is progress only if it lasted: a server
		// that ends each watch at once must not get a thousand requests a second.
		progress := w.resourceVersion != before || (err == nil && time.Since(start) > time.Second)
		delay, word := next(&backoff, err, progress)
		switch word {
		case "EXPIRED", "UNREADABLE":
			w.out.Line(word, "%s: listing again in %s", connect.Explain(err), delay)
			w.resourceVersion = ""
		case "RETRY":
			w.out.Line(word, "in %s: %s", delay, connect.Explain(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(delay):
		}
	}
}

// next returns the delay before the next request, and a word for what comes after err: RETRY is the same request again, EXPIRED
// and UNREADABLE are a list. backoff has the delays of the requests without progress.
func next(backoff *wait.Backoff, err error, progress bool) (delay time.Duration, word string) {
	if progress || isExpired(err) {
		*backoff = firstDelay
	}
	if progress && err == nil {
		return 0, ""
	}
	delay = backoff.Step().Round(100 * time.Millisecond)
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		delay = max(delay, time.Duration(seconds)*time.Second)
	}
	switch {
	case err == nil:
		return delay, ""
	case isExpired(err):
		return delay, "EXPIRED"
	case apierrors.HasStatusCause(err, "ClientWatchDecoding") && !connect.IsConnectionLost(err) && !progress:
		// The program cannot read the next event. To resume would only bring the same event again.
		return delay, "UNREADABLE"
	}
	return delay, "RETRY"
}

// watch prints events until the server or the network ends the watch.
func (w *watcher) watch(ctx context.Context) error {
	start, events := time.Now(), 0
	options := metav1.ListOptions{
		ResourceVersion: w.resourceVersion,
		// A bookmark is an event whose object has nothing but a resourceVersion: all events up to it were sent. If the
		// watched objects do not change but others do, only bookmarks keep w.resourceVersion new enough to resume from.
		AllowWatchBookmarks: true,
	}
	// Pointers distinguish "not set" from zero and false. new(true) is a pointer to true.
	if w.timeout > 0 {
		options.TimeoutSeconds = new(int64(max(1, w.timeout.Seconds())))
	}
	var initial store // what a streaming list has delivered so far; nil when it is complete
	if w.resourceVersion == "" {
		initial = store{}
		options.SendInitialEvents = new(true)
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}

	opened, err := w.listWatch.WatchWithContext(ctx, options)
	if err != nil {
		return err
	}
	defer opened.Stop()
	for event := range opened.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object) // inside a response that began with 200 OK
		}
		events++
		name, e, err := entryOf(event.Object)
		if err != nil {
			return err
		}
		switch {
		case initial == nil && event.Type == watch.Bookmark:
			w.out.Line("BOOKMARK", "%s", e)
			w.resourceVersion = e.resourceVersion
		case initial == nil:
			w.update(event.Type, name, e)
		case event.Type == watch.Bookmark && endsInitialEvents(event.Object):
			if err := w.replace(initial, e.resourceVersion, "streamed", start); err != nil {
				return err
			}
			initial = nil
		case event.Type != watch.Bookmark:
			// w.resourceVersion stays empty: a watch that resumes in the middle of a streaming list misses the rest of it.
			initial[name] = e
		}
	}
	// A closed channel is no error: each watch ends, at the latest by its timeout.
	switch {
	case ctx.Err() != nil:
	case initial != nil:
		w.out.Line("CLOSED", "in the middle of the streaming list: beginning it again")
	default:
		w.out.Line("CLOSED", "after %d event(s): resuming after resourceVersion %s", events, w.resourceVersion)
	}
	return nil
}

// endsInitialEvents reports whether a bookmark is the one that ends a streaming list.
func endsInitialEvents(bookmark runtime.Object) bool {
	metadata, err := apimeta.Accessor(bookmark)
	return err == nil && metadata.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// isExpired reports whether the server no longer has the events after a resourceVersion: HTTP status 410, or an event of
// type ERROR with that code. Another request with the same resourceVersion can only fail again.
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// isWrongRequest reports whether the server has understood the request and rejects it.
func isWrongRequest(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || isExpired(err) || apierrors.IsTooManyRequests(err) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}

// firstDelay is the delay before the first retry. It doubles three times, to 4 seconds, and Jitter makes each delay up to
// half as long again. So the clients of a server that comes back do not all reconnect at the same moment.
var firstDelay = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 3}
