package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/requestlog"
	"example.com/client-go-workbook/internal/test/testkit"
)

// script is a server without sockets, which a synctest bubble can wait for: answers to successive requests, by
// resource. After the last one, each request gets a watch on which nothing happens.
type script map[string][]answer

// answer is the answer to a request: a watch's events, and whether the watch ends after them.
type answer struct {
	status int // 200 if not given
	body   string
	ends   bool
}

const (
	podBookmark        = `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1",` + endsList
	deploymentBookmark = `{"type":"BOOKMARK","object":{"kind":"Deployment","apiVersion":"apps/v1",` + endsList
	endsList           = `"metadata":{"resourceVersion":"10","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
	podList            = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{"namespace":"x","name":"a","uid":"a","resourceVersion":"1"}}]}`
	gone               = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired","message":"too old resource version: 10 (90)"}}` + "\n"
)

// pod returns an event about the pod x/name. The pod's UID is the name's upper case, or what follows it after a dash.
func pod(event, name, resourceVersion string) string {
	name, uid, _ := strings.Cut(name, "-")
	return fmt.Sprintf(`{"type":%q,"object":{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"x","name":%q,"uid":"%s%s","resourceVersion":%q}}}`+"\n",
		event, name, name, uid, resourceVersion)
}

func (s script) RoundTrip(request *http.Request) (*http.Response, error) {
	resource := request.URL.Path[strings.LastIndex(request.URL.Path, "/")+1:]
	next := answer{body: deploymentBookmark}
	scriptLock.Lock()
	if answers, ok := s[resource]; ok {
		next = answer{}
		if len(answers) > 0 {
			next = answers[0]
			s[resource] = answers[1:]
		}
	}
	scriptLock.Unlock()
	if next.status == 0 {
		next.status = http.StatusOK
	}
	body := &watchBody{Reader: strings.NewReader(next.body), ends: next.ends || next.status != http.StatusOK, closed: make(chan struct{})}
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: next.status, Header: header, Body: body, Request: request}, nil
}

var scriptLock sync.Mutex

// watchBody stays open at its end, until it is closed.
type watchBody struct {
	*strings.Reader
	ends   bool
	closed chan struct{}
	once   sync.Once
}

func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF && !b.ends {
		<-b.closed
	}
	return n, err
}

func (b *watchBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// newOptions returns what the flags say by default.
func newOptions() options {
	return options{
		selection:    selection{labels: labels.Everything()},
		name:         "nginx-deployment",
		listerPeriod: time.Hour,
		demo:         demo{handlers: 1},
		requests:     func() int { return 0 },
	}
}

// lines returns the lines that begin with one of the words, as one text.
func lines(printed *testkit.Buffer, words ...string) string {
	var text strings.Builder
	for _, line := range printed.Lines(words...) {
		text.WriteString(line + "\n")
	}
	return text.String()
}

// play runs the chapter against the script for some time, which is a bubble's and does not really pass.
func play(t *testing.T, s script, duration time.Duration, change func(*options)) (printed *testkit.Buffer, err error) {
	printed = &testkit.Buffer{}
	return printed, playOn(t, s, duration, change, printed)
}

func playOn(t *testing.T, transport http.RoundTripper, duration time.Duration, change func(*options), out io.Writer) (err error) {
	synctest.Test(t, func(t *testing.T) {
		o := newOptions()
		if change != nil {
			change(&o)
		}
		var log requestlog.Log
		o.requests = log.Requests
		config := &rest.Config{Host: "http://scripted", QPS: -1, Transport: log.Wrap(transport)}
		ctx, cancel := context.WithTimeout(t.Context(), duration)
		defer cancel()
		err = run(ctx, testkit.Must(kubernetes.NewForConfig(config))(t), o, program.NewPrinter(out))
	})
	return err
}

// streamingListsOff is what a server without streaming lists answers to one.
var streamingListsOff = answer{status: http.StatusUnprocessableEntity, body: `{"kind":"Status","code":422,"reason":"Invalid"}`}
