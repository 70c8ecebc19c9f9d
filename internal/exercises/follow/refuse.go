package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// What Refuse answers.
var (
	// Forbidden is the status 403.
	Forbidden error = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("the grader refuses this request"))
	// NotSupported is what a server answers to a streaming list if it knows no such thing.
	NotSupported error = apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
	// ErrHangs lets a request wait until its context ends.
	ErrHangs = errors.New("no answer")
)

// Expired is the status 410 in a watch that has begun.
var Expired error = ErrorEvent{apierrors.NewResourceExpired("too old resource version")}

// ErrorEvent is a status in a watch that has begun: an event of type ERROR. The watch stays open until the client ends it.
type ErrorEvent struct{ *apierrors.StatusError }

// Refuse answers these requests with err from now on, or lets them through again if it is nil. The verb is list, watch, or
// stream, which is a watch that begins with a list.
func (r *Run) Refuse(verb string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused[verb] = err
}

func verbOf(request *http.Request) string {
	switch query := request.URL.Query(); {
	case query.Get("sendInitialEvents") == "true":
		return "stream"
	case query.Get("watch") != "":
		return "watch"
	}
	return "list"
}

// refuse answers a request in place of the server.
func (r *Run) refuse(request *http.Request, refusal error) (*http.Response, error) {
	if refusal == ErrHangs {
		<-request.Context().Done()
		return nil, context.Cause(request.Context())
	}
	var failure apierrors.APIStatus
	if !errors.As(refusal, &failure) {
		return nil, refusal
	}
	status := failure.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	response := &http.Response{
		StatusCode: int(status.Code), ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Request: request,
	}
	if _, ok := refusal.(ErrorEvent); !ok {
		text, err := json.Marshal(status)
		response.Body = io.NopCloser(bytes.NewReader(text))
		return response, err
	}
	text, err := json.Marshal(metav1.WatchEvent{Type: string(watch.Error), Object: runtime.RawExtension{Object: &status}})
	ctx, cancel := context.WithCancel(request.Context())
	response.StatusCode = http.StatusOK
	response.Body = &openBody{Reader: bytes.NewReader(text), ctx: ctx, close: func() {
		cancel()
		r.unended.Add(-1)
	}}
	r.unended.Add(1)
	return response, err
}

// openBody is the body of a watch that has brought an event, and brings nothing more until it is closed.
type openBody struct {
	io.Reader
	ctx   context.Context
	close func()
	once  sync.Once
}

func (b *openBody) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); err == nil {
		return n, nil
	}
	<-b.ctx.Done()
	return 0, io.EOF
}

func (b *openBody) Close() error {
	b.once.Do(b.close)
	return nil
}

// CheckWatches rejects an answer that has a watch open that it does not need any more.
func (r *Run) CheckWatches(expected string) {
	if r.unended.Load() > 0 {
		r.t.Reject(expected, "a watch is still open: the one that has sent an ERROR", "Stop of watch.Interface")
	}
}
