package exercise_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/01-listwatch/exercises/06-streaming"
	answers "example.com/client-go-workbook/01-listwatch/exercises/answers/06-streaming"
	"example.com/client-go-workbook/01-listwatch/exercises/internal/follow"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error)

var grader = grade.Exercise[answer]{
	Learner:  exercise.PodNames,
	Accepted: []answer{answers.PodNames, answers.EndsItsWatchByAContext},
	Rejected: []grade.Rejected[answer]{
		{Name: "sends a List", Answer: answers.SendsAList, Says: "a List"},
		{Name: "waits for the end of the channel", Answer: answers.WaitsForTheEndOfTheChannel, Says: "still waits"},
		{Name: "takes silence for the end", Answer: answers.TakesSilenceForTheEnd, Says: "names"},
		{Name: "does not ask for bookmarks", Answer: answers.DoesNotAskForBookmarks, Says: "has not asked for bookmarks"},
		{Name: "does not set the match", Answer: answers.DoesNotSetTheMatch, Says: "sendInitialEvents requires"},
		{Name: "returns the version of a pod", Answer: answers.ReturnsTheVersionOfAPod, Says: "version"},
		{Name: "leaves the watch open", Answer: answers.LeavesTheWatchOpen, Says: "still open"},
	},
	Grade: func(t *grade.T, podNames answer) { t.Bubble(func(t *grade.T) { gradePodNames(t, podNames) }) },
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

const look = `"A streaming list" in the chapter's README`

// gradePodNames runs in a bubble, in which a minute passes at once.
func gradePodNames(t *grade.T, podNames answer) {
	run := follow.New(t)
	want := run.Names(10 + t.Rand.IntN(10))
	for _, name := range want {
		run.Create(follow.Pod(name))
	}
	run.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}}) // so no pod has the newest version
	version := run.Version()

	config := run.Config()
	config.Wrap(slow)
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	expected := fmt.Sprintf("%d names in version %s", len(want), version)
	got := inAMinute(t, podNames, client.Pods("default"))
	if watches := run.Requests("watch"); len(watches) > 0 && watches[0].Query.Get("allowWatchBookmarks") != "true" {
		t.Reject("a watch that gets a bookmark after the initial events", "a watch that has not asked for bookmarks",
			"AllowWatchBookmarks in metav1.ListOptions")
	}
	if got == nil {
		t.Reject(expected, "the server has sent them all, and your function still waits", look)
	}
	if lists := run.Requests("list"); len(lists) > 0 {
		t.Reject("one watch", "a List", look)
	}
	if got.err != nil {
		t.Reject(expected, "the error "+got.err.Error(), "the comments of SendInitialEvents in metav1.ListOptions")
	}
	slices.Sort(got.names)
	if !slices.Equal(got.names, want) {
		t.Reject(expected, fmt.Sprintf("%d names in version %q", len(got.names), got.version), "which event is the last one: "+look)
	}
	if got.version != version {
		t.Reject("version "+version+", the bookmark's", "version "+got.version, "event.Object of the bookmark")
	}

	// The server ends the watch in the middle of the initial events.
	short := run.Config()
	short.Wrap(cutShort)
	if client, err = typedcorev1.NewForConfig(short); err != nil {
		t.Fatal(err)
	}
	expected = "an error, because the watch has ended in the middle of the list"
	switch got := inAMinute(t, podNames, client.Pods("default")); {
	case got == nil:
		t.Reject(expected, "your function still waits", "what your code does when the channel is closed")
	case got.err == nil:
		t.Reject(expected, fmt.Sprintf("%d names, and no error", len(got.names)), "what your code does when the channel is closed")
	}
	synctest.Wait() // until the server has noticed what the function has ended
	if open := run.Watches(); open > 0 {
		t.Reject("no watch is open when your function has returned", fmt.Sprintf("%d still open", open), "Stop of watch.Interface")
	}
}

// result is what podNames returns.
type result struct {
	names   []string
	version string
	err     error
}

// inAMinute calls podNames. It returns nil if that has not returned after a minute.
func inAMinute(t *grade.T, podNames answer, pods typedcorev1.PodInterface) *result {
	results := make(chan *result, 1)
	go func() {
		names, version, err := podNames(t.Context(), pods)
		results <- &result{names, version, err}
	}()
	select {
	case got := <-results:
		return got
	case <-time.After(time.Minute):
		return nil
	}
}

// slow delivers an answer in two parts, with half a second between them.
func slow(next http.RoundTripper) http.RoundTripper {
	return changed{next, func(body io.ReadCloser) io.ReadCloser {
		return &part{ReadCloser: body, left: 1500, then: func() error {
			time.Sleep(time.Second / 2)
			return nil
		}}
	}}
}

// cutShort delivers the first part of an answer.
func cutShort(next http.RoundTripper) http.RoundTripper {
	return changed{next, func(body io.ReadCloser) io.ReadCloser {
		return &part{ReadCloser: body, left: 1500, then: func() error { return io.EOF }}
	}}
}

// changed is a transport that changes the bodies of answers.
type changed struct {
	http.RoundTripper
	change func(io.ReadCloser) io.ReadCloser
}

func (c changed) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusOK {
		response.Body = c.change(response.Body)
	}
	return response, err
}

// part is a body that calls then after the first bytes.
type part struct {
	io.ReadCloser
	left int
	then func() error
}

func (p *part) Read(b []byte) (int, error) {
	if p.left > 0 {
		n, err := p.ReadCloser.Read(b[:min(len(b), p.left)])
		p.left -= n
		return n, err
	}
	if err := p.then(); err != nil {
		return 0, err
	}
	p.then = func() error { return nil }
	return p.ReadCloser.Read(b)
}
