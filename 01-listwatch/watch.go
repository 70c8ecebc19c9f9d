package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/connect"
)

// watcher prints a resource's objects and keeps what is printed equal to the server.
type watcher struct {
	listWatch *cache.ListWatch
	pageSize  uint32
	stream    bool
	timeout   time.Duration
	out       io.Writer

	world   world  // what is printed; nil before the first list
	version string // resourceVersion that the world was printed up to; empty when it must be listed
}

// firstDelay is waited before a second try, and doubled for each one after, up to 4 seconds. Jitter keeps the
// clients of a server that comes back from knocking all at once.
var firstDelay = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 3}

// run lists and watches until ctx ends. It gives up only if the first request is refused as wrong, which no
// waiting mends. It never waits while there is progress, and never tries again at once without any.
func (w *watcher) run(ctx context.Context) error {
	backoff := firstDelay
	for {
		start, version := time.Now(), w.version
		var err error
		if w.version == "" && !w.stream {
			err = w.list(ctx)
		} else {
			err = w.watch(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		if w.world == nil && isWrongRequest(err) {
			return err
		}
		// An event or a list moves the version on. A watch on which nothing happened has got us further only if it
		// lasted: a server that ends each at once must not be asked a thousand times a second.
		progress := w.version != version || (err == nil && time.Since(start) > time.Second)
		if progress || isExpired(err) {
			backoff = firstDelay
		}
		if progress && err == nil {
			continue
		}
		delay := backoff.Step().Round(100 * time.Millisecond)
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			delay = max(delay, time.Duration(seconds)*time.Second)
		}
		switch {
		case isExpired(err):
			w.line("EXPIRED", "%s: listing again in %s", connect.Explain(err), delay)
			w.version = ""
		case apierrors.HasStatusCause(err, "ClientWatchDecoding") && !connect.IsConnectionLost(err) && !progress:
			// The event after our version can't be read, and asking for it again would not change that.
			w.line("UNREADABLE", "%s: listing again in %s", connect.Explain(err), delay)
			w.version = ""
		case err != nil:
			w.line("RETRY", "in %s: %s", delay, connect.Explain(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(delay):
		}
	}
}

// watch prints events until the server or the network ends the watch.
func (w *watcher) watch(ctx context.Context) error {
	start, events := time.Now(), 0
	options := metav1.ListOptions{
		ResourceVersion: w.version,
		// Bookmarks are events without an object that tell the newest version. Where ours is not among the
		// objects that change, only they keep the version we resume from young enough for the server.
		AllowWatchBookmarks: true,
	}
	// Pointers tell "not set" from zero and false; new(true) is one to a true.
	if w.timeout > 0 {
		options.TimeoutSeconds = new(int64(max(1, w.timeout.Seconds())))
	}
	var initial world // what a streaming list has delivered so far; nil when we have it all
	if w.version == "" {
		initial = world{}
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
			return apierrors.FromObject(event.Object) // inside an answer that began with 200 OK
		}
		events++
		name, s, err := look(event.Object)
		if err != nil {
			return err
		}
		switch {
		case initial == nil && event.Type == watch.Bookmark:
			w.line("BOOKMARK", "%s", s)
			w.version = s.resourceVersion
		case initial == nil:
			w.apply(event.Type, name, s)
		case event.Type == watch.Bookmark && endsInitialEvents(event.Object):
			w.replace(initial, s.resourceVersion, "streamed", start)
			initial = nil
		case event.Type != watch.Bookmark:
			// The version stays as it was: whoever resumes in the middle of a streaming list loses the rest of it.
			initial[name] = s
		}
	}
	// That the channel closes is no error: each watch ends, by its timeout if by nothing else.
	switch {
	case ctx.Err() != nil:
	case initial != nil:
		w.line("CLOSED", "in the middle of the streaming list: beginning it again")
	default:
		w.line("CLOSED", "after %d event(s): resuming after resourceVersion %s", events, w.version)
	}
	return nil
}

// endsInitialEvents tells whether a bookmark is the one that ends a streaming list.
func endsInitialEvents(bookmark runtime.Object) bool {
	metadata, err := meta.Accessor(bookmark)
	return err == nil && metadata.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// isExpired tells whether the server has forgotten the version we asked for: HTTP status 410, or an event of
// type ERROR with that code. Asking for the same version again can only fail again.
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// isWrongRequest tells whether the server has understood the request and refuses it.
func isWrongRequest(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || isExpired(err) || apierrors.IsTooManyRequests(err) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}
