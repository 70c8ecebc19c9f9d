package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/program"
)

// A step is one request that the script expects, and its answer. Steps are all the server there is:
// what Kubernetes would do is spelled out, so that the test can also do what Kubernetes does once in a month.
type step struct {
	query  string // the parameters that matter, as in "watch=true&resourceVersion=12"
	status int    // 200 if not given
	header http.Header
	body   string
}

const (
	list10        = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[` + podA1 + `,` + podB2 + `]}`
	listNoVersion = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[` + podA1 + `]}`
	list20        = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"20"},"items":[` + podA1 + `]}`
	podA1         = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"x","name":"a","uid":"ua","resourceVersion":"1"}}`
	podB2         = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"x","name":"b","uid":"ub","resourceVersion":"2"}}`
	podA11        = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"x","name":"a","uid":"ua","resourceVersion":"11"}}`
	podA12        = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"x","name":"a","uid":"another","resourceVersion":"12"}}`
	podEvil       = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"x","name":"a","uid":"ua","resourceVersion":"11",` +
		`"labels":{"\u001b]0;t\u0007\u202e":"x"},"managedFields":[{"manager":"\u001b[0m","fieldsV1":{"f:status":{"f:phase":{}}}}]},` +
		`"status":{"phase":"\u001b[31mRunning\u009b"}}`
	podC13  = `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"x","name":"c","uid":"uc","resourceVersion":"13"}}`
	podRV15 = `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"15"}}`
	podEnd  = `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"10","annotations":{"k8s.io/initial-events-end":"true"}}}`

	statusEvil = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"\u202eout\u001b[2J"}`

	listed10 = `LISTED     x/a resourceVersion 1
LISTED     x/b resourceVersion 2
SYNCED     2 object(s) at resourceVersion 10, listed in 1 page(s) in 0s
`
)

func event(kind, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", kind, object)
}

func status(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`, code, reason, message)
}

func TestWatcherOnScriptedServer(t *testing.T) {
	gone := status(http.StatusGone, "Expired", "too old resource version: 10 (90)")
	for name, test := range map[string]struct {
		stream bool
		script []step
		want   string        // what is printed
		took   time.Duration // how long it waited, on the bubble's clock, without jitter
	}{
		"a closed watch is resumed after the last event": {
			script: []step{
				{query: "limit=500", body: list10},
				{query: "watch=true&resourceVersion=10&allowWatchBookmarks=true", body: event("MODIFIED", podA11)},
				{query: "watch=true&resourceVersion=11", body: event("DELETED", podA12)},
				{query: "watch=true&resourceVersion=12"},
			},
			want: listed10 + `MODIFIED   x/a resourceVersion 11
CLOSED     after 1 event(s): resuming after resourceVersion 11
DELETED    x/a resourceVersion 12: metadata.uid
CLOSED     after 1 event(s): resuming after resourceVersion 12
`,
		},
		"bookmarks count": {
			script: []step{
				{body: list10},
				{query: "watch=true&resourceVersion=10", body: event("BOOKMARK", podRV15)},
				{query: "watch=true&resourceVersion=15"},
			},
			want: listed10 + `BOOKMARK   resourceVersion 15
CLOSED     after 1 event(s): resuming after resourceVersion 15
`,
		},
		"a watch that ends at once does not spin": {
			script: []step{{body: list10}, {}, {}, {}, {query: "watch=true&resourceVersion=10"}},
			want:   listed10 + strings.Repeat("CLOSED     after 0 event(s): resuming after resourceVersion 10\n", 3),
			took:   (500 + 1000 + 2000) * time.Millisecond,
		},
		"410 as an event: lists again and prints what was missed": {
			script: []step{
				{body: list10},
				{query: "watch=true&resourceVersion=10", body: event("ERROR", gone)},
				{query: "limit=500", body: strings.Replace(list10, podA1+`,`+podB2, podA12+`,`+podC13, 1)},
				{query: "watch=true&resourceVersion=10"},
			},
			want: listed10 + `EXPIRED    too old resource version: 10 (90): listing again in 500ms
MISSED     DELETED x/a resourceVersion 1
MISSED     DELETED x/b resourceVersion 2
MISSED     ADDED x/a resourceVersion 12
MISSED     ADDED x/c resourceVersion 13
SYNCED     2 object(s) at resourceVersion 10, listed in 1 page(s) in 0s
`,
			took: 500 * time.Millisecond,
		},
		"410 as an answer: the same": {
			script: []step{
				{body: list10},
				{query: "watch=true&resourceVersion=10", status: http.StatusGone, body: gone},
				{query: "limit=500", body: list20},
				{query: "watch=true&resourceVersion=20"},
			},
			want: listed10 + `EXPIRED    too old resource version: 10 (90): listing again in 500ms
MISSED     DELETED x/b resourceVersion 2
SYNCED     1 object(s) at resourceVersion 20, listed in 1 page(s) in 0s
`,
			took: 500 * time.Millisecond,
		},
		"429 waits as long as the server asks": { // that is client-go's doing: it tries again by itself
			script: []step{
				{body: list10},
				{
					query: "watch=true", status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {"7"}},
					body: status(429, "TooManyRequests", "slow down"),
				},
				{query: "watch=true&resourceVersion=10"},
			},
			want: listed10,
			took: 7 * time.Second,
		},
		"429 for more than client-go's ten tries still waits as the server asks": {
			script: append(append([]step{{body: list10}}, repeat(11, step{
				status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {"3"}},
				body: `{"kind":"Status","apiVersion":"v1","status":"Failure","code":429,"reason":"TooManyRequests","message":"slow down","details":{"retryAfterSeconds":3}}`,
			})...), step{query: "watch=true&resourceVersion=10"}),
			want: listed10 + "RETRY      in 3s: slow down\n",
			took: 11 * 3 * time.Second,
		},
		"500 backs off by itself": {
			script: []step{
				{body: list10},
				{status: 500, body: status(500, "InternalError", "out of order")},
				{status: 503, body: status(503, "ServiceUnavailable", "restarting")},
				{query: "watch=true&resourceVersion=10"},
			},
			want: listed10 + "RETRY      in 500ms: out of order\nRETRY      in 1s: restarting\n",
			took: 1500 * time.Millisecond,
		},
		"an unreadable event after good ones is asked for again, and then listed over": {
			script: []step{
				{body: list10},
				{body: event("MODIFIED", podA11) + "{broken\n"},
				{query: "watch=true&resourceVersion=11", body: "{broken\n"},
				{query: "limit=500", body: list20},
				{query: "watch=true&resourceVersion=20"},
			},
			want: listed10 + `MODIFIED   x/a resourceVersion 11
RETRY      in 500ms: an error on the server ("unable to decode an event from the watch stream: invalid character 'b' looking for beginning of object key string") has prevented the request from succeeding
UNREADABLE an error on the server ("unable to decode an event from the watch stream: invalid character 'b' looking for beginning of object key string") has prevented the request from succeeding: listing again in 1s
MISSED     DELETED x/b resourceVersion 2
MISSED     MODIFIED x/a resourceVersion 1
SYNCED     1 object(s) at resourceVersion 20, listed in 1 page(s) in 0s
`,
			took: 1500 * time.Millisecond,
		},
		"a list in pages is one list": {
			script: []step{
				{query: "limit=500", body: `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10","continue":"more"},"items":[` + podA1 + `]}`},
				{query: "limit=500&continue=more", body: `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[` + podB2 + `]}`},
				{query: "watch=true&resourceVersion=10"},
			},
			want: strings.Replace(listed10, "1 page(s)", "2 page(s)", 1),
		},
		"a list whose next page has expired begins again": {
			script: []step{
				{body: `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10","continue":"more"},"items":[` + podB2 + `]}`},
				{query: "continue=more", status: http.StatusGone, body: status(410, "Expired", "the continue parameter is too old")},
				{query: "limit=500&continue=", body: list20},
				{query: "watch=true&resourceVersion=20"},
			},
			want: `EXPIRED    the continue parameter is too old: listing again in 500ms
LISTED     x/a resourceVersion 1
SYNCED     1 object(s) at resourceVersion 20, listed in 1 page(s) in 0s
`,
			took: 500 * time.Millisecond,
		},
		"a streaming list ends with its bookmark, and the watch goes on": {
			stream: true,
			script: []step{
				{
					query: "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=",
					body:  event("ADDED", podA1) + event("ADDED", podB2) + event("BOOKMARK", podEnd) + event("ADDED", podC13),
				},
				{query: "watch=true&resourceVersion=13&sendInitialEvents="},
			},
			want: strings.Replace(listed10, "listed in 1 page(s)", "streamed", 1) + `ADDED      x/c resourceVersion 13
CLOSED     after 4 event(s): resuming after resourceVersion 13
`,
		},
		"a streaming list that was cut in the middle begins again": {
			stream: true,
			script: []step{
				{query: "sendInitialEvents=true&resourceVersion=", body: event("ADDED", podB2)},
				{query: "sendInitialEvents=true&resourceVersion=", body: event("ADDED", podA1) + event("BOOKMARK", podEnd)},
				{query: "watch=true&resourceVersion=10&sendInitialEvents="},
			},
			want: `CLOSED     in the middle of the streaming list: beginning it again
LISTED     x/a resourceVersion 1
SYNCED     1 object(s) at resourceVersion 10, streamed in 0s
CLOSED     after 2 event(s): resuming after resourceVersion 10
`,
			took: 500 * time.Millisecond,
		},
		"a list without a resourceVersion, later, is asked for again": {
			script: []step{
				{body: list10},
				{query: "watch=true&resourceVersion=10", status: http.StatusGone, body: gone},
				{query: "limit=500", body: listNoVersion},
				{query: "limit=500", body: list20},
				{query: "watch=true&resourceVersion=20"},
			},
			want: listed10 + `EXPIRED    too old resource version: 10 (90): listing again in 500ms
RETRY      in 1s: the list has no resourceVersion, so a watch has nowhere to start: choose another --resource
MISSED     DELETED x/b resourceVersion 2
SYNCED     1 object(s) at resourceVersion 20, listed in 1 page(s) in 0s
`,
			took: 1500 * time.Millisecond,
		},
		"what a terminal would obey is shown": {
			script: []step{
				{body: list10},
				{query: "watch=true&resourceVersion=10", body: event("MODIFIED", podEvil)},
				{query: "watch=true&resourceVersion=11", status: 500, body: statusEvil},
				{query: "watch=true&resourceVersion=11"},
			},
			want: listed10 + `MODIFIED   x/a resourceVersion 11 \x1b[31mRunning\u009b: metadata.labels.\x1b]0;t\a\u202e, status.phase, by \x1b[0m
CLOSED     after 1 event(s): resuming after resourceVersion 11
RETRY      in 500ms: \u202eout\x1b[2J
`,
			took: 500 * time.Millisecond,
		},
		"forbidden later is waited out": {
			script: []step{
				{body: list10},
				{status: http.StatusForbidden, body: status(403, "Forbidden", "pods is forbidden: you cannot watch them")},
				{query: "watch=true&resourceVersion=10"},
			},
			want: listed10 + "RETRY      in 500ms: pods is forbidden: you cannot watch them: this needs a Role or ClusterRole with that verb and resource, bound to the user\n",
			took: 500 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				got, err := play(t, test.stream, test.script)
				if err != nil {
					t.Errorf("run: %v", err)
				}
				if diff := cmp.Diff(strings.Split(test.want, "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("printed (-want +got):\n%s", diff)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("waited %s, want %s", took, test.took)
				}
			})
		})
	}
}

func TestFirstRequestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := play(t, false, []step{{status: http.StatusForbidden, body: status(403, "Forbidden", "pods is forbidden")}})
		if err == nil || got != "" {
			t.Errorf("run = %v and printed %q, want an error and nothing printed", err, got)
		}
	})
}

// TestAListWithoutResourceVersion has nothing to watch from.
func TestAListWithoutResourceVersion(t *testing.T) {
	for stream, body := range map[bool]string{
		false: listNoVersion,
		true:  event("ADDED", podA1) + event("BOOKMARK", strings.Replace(podEnd, `"resourceVersion":"10",`, "", 1)),
	} {
		synctest.Test(t, func(t *testing.T) {
			got, err := play(t, stream, []step{{status: http.StatusOK, body: body}})
			if !errors.Is(err, errNoVersion) || got != "" {
				t.Errorf("stream %t: run = %v and printed %q, want an error and nothing printed", stream, err, got)
			}
		})
	}
}

func repeat(n int, s step) []step {
	steps := make([]step, n)
	for i := range steps {
		steps[i] = s
	}
	return steps
}

// play runs the watcher against the script until the last step is asked for, and returns what it printed.
func play(t *testing.T, stream bool, script []step) (string, error) {
	withoutJitter(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	config := &rest.Config{Host: "http://scripted", QPS: -1, Transport: roundTripper(func(request *http.Request) (*http.Response, error) {
		if len(script) == 0 {
			t.Errorf("unexpected request: %s", request.URL)
			cancel()
			return nil, ctx.Err()
		}
		next := script[0]
		script = script[1:]
		want, err := url.ParseQuery(next.query)
		if err != nil {
			t.Error(err)
		}
		for parameter := range want {
			if got := request.URL.Query().Get(parameter); got != want.Get(parameter) {
				t.Errorf("%s: %s = %q, want %q", request.URL, parameter, got, want.Get(parameter))
			}
		}
		if len(script) == 0 && next.status == 0 {
			cancel()
			return nil, ctx.Err()
		}
		header := http.Header{"Content-Type": {"application/json"}}
		for key, value := range next.header {
			header[key] = value
		}
		if next.status == 0 {
			next.status = http.StatusOK
		}
		body := io.NopCloser(strings.NewReader(next.body))
		return &http.Response{StatusCode: next.status, Header: header, Body: body, Request: request}, nil
	})}
	listWatch, err := newListWatch(ctx, config, selection{resource: "pods", labels: labels.Everything(), fields: fields.Everything()})
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	w := watcher{listWatch: listWatch, pageSize: 500, stream: stream, out: program.NewPrinter(&printed)}
	err = w.run(ctx)
	if len(script) > 0 {
		t.Errorf("%d step(s) of the script were never asked for", len(script))
	}
	return printed.String(), err
}

func withoutJitter(t *testing.T) {
	jitter := firstDelay.Jitter
	firstDelay.Jitter = 0
	t.Cleanup(func() { firstDelay.Jitter = jitter })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func TestNext(t *testing.T) {
	const second = time.Second
	lost, wrong := io.ErrUnexpectedEOF, apierrors.NewBadRequest("no")
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding")
	unreadable := apierrors.FromObject(reporter.AsObject(errors.New("no JSON")))
	for name, test := range map[string]struct {
		before   int // requests without progress
		err      error
		progress bool
		delay    time.Duration
		word     string
	}{
		"the server ended a watch":       {before: 3, progress: true},
		"it ends each watch at once":     {delay: second / 2},
		"and again":                      {before: 1, delay: second},
		"lost":                           {before: 1, err: lost, delay: second, word: "RETRY"},
		"for long":                       {before: 9, err: lost, delay: 4 * second, word: "RETRY"},
		"lost after events":              {before: 9, err: lost, progress: true, delay: second / 2, word: "RETRY"},
		"refused":                        {err: wrong, delay: second / 2, word: "RETRY"},
		"the server says when":           {err: apierrors.NewTooManyRequests("later", 7), delay: 7 * second, word: "RETRY"},
		"the server says when, sooner":   {before: 3, err: apierrors.NewTooManyRequests("later", 1), delay: 4 * second, word: "RETRY"},
		"expired":                        {before: 9, err: apierrors.NewResourceExpired("old"), delay: second / 2, word: "EXPIRED"},
		"an event that cannot be read":   {before: 1, err: unreadable, delay: second, word: "UNREADABLE"},
		"one that came after other ones": {before: 1, err: unreadable, progress: true, delay: second / 2, word: "RETRY"},
	} {
		t.Run(name, func(t *testing.T) {
			withoutJitter(t)
			backoff := firstDelay
			for range test.before {
				backoff.Step()
			}
			delay, word := next(&backoff, test.err, test.progress)
			if delay != test.delay || word != test.word {
				t.Errorf("got %s, %q, want %s, %q", delay, word, test.delay, test.word)
			}
		})
	}
}
