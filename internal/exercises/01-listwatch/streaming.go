package listwatch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/follow"
)

type streamingAnswer = func(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error)

// Streaming grades the answers to "A list that streams".
var Streaming = grade.Exercise[streamingAnswer]{
	Grade: func(t *grade.T, podNames streamingAnswer) { t.Bubble(func(t *grade.T) { gradeStreaming(t, podNames) }) },
}

const lookStreaming = `"A streaming list" in the chapter's README`

// gradeStreaming runs in a bubble, in which hours pass at once.
func gradeStreaming(t *grade.T, podNames streamingAnswer) {
	gradeSlowly(t, podNames)
	gradeCutShort(t, podNames)
	gradeFailedStreams(t, podNames)
}

// startWithPods starts a server with pods, and with something else that is newer. One pod has the annotation of the last bookmark, like a
// copy of that would.
func startWithPods(t *grade.T) (run *follow.Run, names []string, version string) {
	run = follow.New(t)
	names = run.Names(10 + t.Rand.IntN(10))
	annotated := t.Rand.IntN(len(names) - 1)
	for i, name := range names {
		pod := follow.Pod(name)
		if i == annotated {
			pod.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		}
		run.Create(pod)
	}
	run.Other() // so no pod has the newest version
	return run, names, run.Version()
}

// gradeSlowly delivers the pods in two parts. In between, time passes, and a bookmark comes that does not end the list.
func gradeSlowly(t *grade.T, podNames streamingAnswer) {
	run, want, version := startWithPods(t)
	expected := fmt.Sprintf("%d names in version %s", len(want), version)
	wait := time.Duration(61+t.Rand.IntN(300)) * time.Minute
	run.Deliver = lines(1+t.Rand.IntN(len(want)-1), func(request *http.Request) (string, error) {
		if !passes(wait, request) {
			return "", io.EOF
		}
		return bookmarkLine(version), nil
	})
	begin := time.Now()
	got := inADay(t, podNames, run)
	if watches := run.Requests("watch"); len(watches) > 0 && watches[0].Query.Get("allowWatchBookmarks") != "true" {
		t.Reject("a watch that gets a bookmark after the initial events", "a watch that has not asked for bookmarks",
			"AllowWatchBookmarks in metav1.ListOptions")
	}
	run.CheckContext()
	if got == nil {
		t.Reject(expected, "the server has sent them all, and your function still waits", lookStreaming)
	}
	if lists := run.Requests("list"); len(lists) > 0 {
		t.Reject("one watch", "a List", lookStreaming)
	}
	if took := time.Since(begin); got.err != nil && time.Minute/2 < took && took < wait {
		t.Reject(expected+", although the next pod comes after "+wait.String(),
			fmt.Sprintf("after %s, the error %v", took.Round(time.Second), got.err),
			"what limits the time: a context, TimeoutSeconds, a timer")
	}
	if got.err != nil {
		t.Reject(expected, "the error "+got.err.Error(), "the comments of SendInitialEvents in metav1.ListOptions")
	}
	slices.Sort(got.names)
	if !slices.Equal(got.names, want) {
		t.Reject(expected, fmt.Sprintf("%d names in version %q", len(got.names), got.version),
			"which event is the last one, and which bookmark: "+lookStreaming)
	}
	if got.version != version {
		t.Reject("version "+version+", the bookmark's", "version "+got.version, "event.Object of the bookmark")
	}
	checkWatches(t, run)
}

// passes waits. It is false if the client or its timeoutSeconds ends the request before.
func passes(wait time.Duration, request *http.Request) bool {
	ctx := request.Context()
	if limit, err := time.ParseDuration(request.URL.Query().Get("timeoutSeconds") + "s"); err == nil {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = limited
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

// bookmarkLine returns one that does not end the list.
func bookmarkLine(version string) string {
	return `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"` + version + `"}}}`
}

// gradeCutShort ends the watch in the middle of the initial events, and then once more, after a bookmark that does not end the list.
func gradeCutShort(t *grade.T, podNames streamingAnswer) {
	for _, withBookmark := range []bool{false, true} {
		run, want, version := startWithPods(t)
		last := ""
		if withBookmark {
			last = bookmarkLine(version)
		}
		run.Deliver = lines(1+t.Rand.IntN(len(want)-1), func(*http.Request) (string, error) { return last, io.EOF })
		rejectNoError(t, "the watch has ended in the middle of the list", "what your code does when the channel is closed",
			inADay(t, podNames, run))
		checkWatches(t, run)
	}
}

// gradeFailedStreams lets the watch fail: the request, and then the watch.
func gradeFailedStreams(t *grade.T, podNames streamingAnswer) {
	run, _, _ := startWithPods(t)
	run.Refuse("stream", follow.Forbidden)
	rejectNoError(t, "the server answered 403", "what your code does with the error of Watch", inADay(t, podNames, run))

	run, _, _ = startWithPods(t)
	run.Refuse("stream", follow.Expired)
	got := inADay(t, podNames, run)
	rejectNoError(t, "the watch has sent an ERROR event with 410", "event.Type: watch.Error", got)
	if !apierrors.IsResourceExpired(got.err) {
		t.Reject("the error of the ERROR event, with the reason Expired", "the error "+got.err.Error(),
			"apierrors.FromObject(event.Object)")
	}
	checkWatches(t, run)
}

func rejectNoError(t *grade.T, because, look string, got *listed) {
	switch {
	case got == nil:
		t.Reject("an error, because "+because, "your function still waits", look)
	case got.err == nil:
		t.Reject("an error, because "+because, fmt.Sprintf("%d names, and no error", len(got.names)), look)
	}
}

func checkWatches(t *grade.T, run *follow.Run) {
	synctest.Wait() // until the server has noticed what the function has ended
	if open := run.Watches(); open > 0 {
		t.Reject("no watch is open when your function has returned", fmt.Sprintf("%d still open", open), "Stop of watch.Interface")
	}
	run.CheckWatches("no watch is open when your function has returned")
}

// listed is what podNames returns.
type listed struct {
	names   []string
	version string
	err     error
}

// inADay calls podNames. It returns nil if that has not returned after a day. It rejects an answer that asks again and again.
func inADay(t *grade.T, podNames streamingAnswer, run *follow.Run) *listed {
	results := make(chan *listed, 1)
	go func() {
		names, version, err := podNames(run.Context(), run.Client())
		results <- &listed{names, version, err}
	}()
	for range 24 * 60 * 60 {
		select {
		case got := <-results:
			return got
		case <-time.After(time.Second):
		}
		if watches := len(run.Requests("watch")); watches > 100 {
			t.Reject("one watch, and an error if it fails or ends too early", fmt.Sprintf("%d watches", watches),
				"the loop around Watch: exercise 1.3 needs one, and this one does not")
		}
	}
	return nil
}

// lines returns a function that changes the body of an answer: after so many lines of it, between is called, and adds a text or
// ends the body by an error. Each event of a watch is a line.
func lines(count int, between func(*http.Request) (string, error)) func(*http.Request, io.ReadCloser) io.ReadCloser {
	return func(request *http.Request, body io.ReadCloser) io.ReadCloser {
		between := func() (string, error) { return between(request) }
		return &part{Closer: body, body: bufio.NewReader(body), left: count, between: between}
	}
}

type part struct {
	io.Closer
	body    *bufio.Reader
	line    string // what is left of the current one
	err     error  // what follows it
	left    int    // lines until between
	between func() (string, error)
}

func (p *part) Read(b []byte) (n int, err error) {
	if p.line == "" && p.err == nil {
		if p.left == 0 {
			p.line, p.err = p.between()
		} else {
			p.line, p.err = p.body.ReadString('\n')
		}
		p.left--
	}
	n = copy(b, p.line)
	if p.line = p.line[n:]; p.line != "" {
		return n, nil
	}
	return n, p.err
}
