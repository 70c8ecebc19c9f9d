package exercise

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	another "example.com/client-go-workbook/01-listwatch/exercises/06-streaming/another"
	leaves "example.com/client-go-workbook/01-listwatch/exercises/06-streaming/attempts/leaves-the-watch-open"
	lists "example.com/client-go-workbook/01-listwatch/exercises/06-streaming/attempts/lists"
	podversion "example.com/client-go-workbook/01-listwatch/exercises/06-streaming/attempts/returns-the-version-of-a-pod"
	silence "example.com/client-go-workbook/01-listwatch/exercises/06-streaming/attempts/takes-silence-for-the-end"
	waits "example.com/client-go-workbook/01-listwatch/exercises/06-streaming/attempts/waits-for-the-end-of-the-channel"
	nobookmarks "example.com/client-go-workbook/01-listwatch/exercises/06-streaming/attempts/without-bookmarks"
	nomatch "example.com/client-go-workbook/01-listwatch/exercises/06-streaming/attempts/without-the-match"
	solution "example.com/client-go-workbook/01-listwatch/exercises/06-streaming/solution"
	starter "example.com/client-go-workbook/01-listwatch/exercises/06-streaming/starter"
	"example.com/client-go-workbook/01-listwatch/exercises/internal/follow"
	"example.com/client-go-workbook/internal/grade"
)

type answer = func(ctx context.Context, pods typedcorev1.PodInterface) (names []string, resourceVersion string, err error)

var exercise = grade.Exercise[answer]{
	Learner:  PodNames,
	Starter:  starter.PodNames,
	Accepted: []answer{solution.PodNames, another.PodNames},
	Rejected: []grade.Rejected[answer]{
		{Name: "lists", Answer: lists.PodNames, Says: "a List"},
		{Name: "waits for the end of the channel", Answer: waits.PodNames, Says: "still waits"},
		{Name: "takes silence for the end", Answer: silence.PodNames, Says: "names"},
		{Name: "does not ask for bookmarks", Answer: nobookmarks.PodNames, Says: "has not asked for bookmarks"},
		{Name: "does not set the match", Answer: nomatch.PodNames, Says: "sendInitialEvents requires"},
		{Name: "returns the version of a pod", Answer: podversion.PodNames, Says: "version"},
		{Name: "leaves the watch open", Answer: leaves.PodNames, Says: "still open"},
	},
	Timeout: 10 * time.Second, // that nobody ends a watch shows only after some time
	Grade:   gradePodNames,
}

func TestExercise(t *testing.T) { exercise.Test(t) }
func TestGrader(t *testing.T)   { exercise.TestGrader(t) }

const look = `"A streaming list" in the chapter's README`

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
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // so it goes on at the deadline
	defer cancel()
	var got []string
	var gotVersion string
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		got, gotVersion, err = podNames(ctx, client.Pods("default"))
	}()
	expected := fmt.Sprintf("%d names in version %s", len(want), version)
	t.Eventually(expected, look, func() (bool, string) {
		select {
		case <-returned:
			return true, ""
		default:
		}
		if watches := run.Requests("watch"); len(watches) > 0 && watches[0].Query.Get("allowWatchBookmarks") != "true" {
			t.Reject("a watch that gets a bookmark after the initial events", "a watch that has not asked for bookmarks",
				"AllowWatchBookmarks in metav1.ListOptions")
		}
		return false, "the server has sent them all, and your function still waits"
	})
	if lists := run.Requests("list"); len(lists) > 0 {
		t.Reject("one watch", "a List", look)
	}
	if err != nil {
		t.Reject(expected, "the error "+err.Error(), "the comments of SendInitialEvents in metav1.ListOptions")
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Reject(expected, fmt.Sprintf("%d names in version %q", len(got), gotVersion), "which event is the last one: "+look)
	}
	if gotVersion != version {
		t.Reject("version "+version+", the bookmark's", "version "+gotVersion, "event.Object of the bookmark")
	}

	// The server ends the watch in the middle of the initial events.
	short := run.Config()
	short.Wrap(cutShort)
	if client, err = typedcorev1.NewForConfig(short); err != nil {
		t.Fatal(err)
	}
	t.Doing("your function returns when the watch has ended in the middle of the list")
	if got, _, err := podNames(t.Context(), client.Pods("default")); err == nil {
		t.Reject("an error, because the watch has ended in the middle of the list", fmt.Sprintf("%d names, and no error", len(got)),
			"what your code does when the channel is closed")
	}
	t.Eventually("no watch is open when your function has returned", "Stop of watch.Interface", func() (bool, string) {
		return run.Watches() == 0, fmt.Sprintf("%d still open", run.Watches())
	})
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
