package grade

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testkit"
)

// Request is one that an answer has sent.
type Request struct {
	Number int // 1 is the first
	Method string
	// Resource and Name are what its path ends with: "secrets" and "db-12". A subresource is a part of Name: "db-12/status".
	// Name is empty in a list and in a create.
	Resource, Name string

	hasContext bool // that of the caller, or one that was made from it
}

// String says which one it is: "the 2nd request, PUT of secrets/db-12".
func (r Request) String() string {
	return fmt.Sprintf("the %s request, %s of %s", ordinal(r.Number), r.Method, strings.TrimSuffix(r.Resource+"/"+r.Name, "/"))
}

// Reads says whether the request changes nothing.
func (r Request) Reads() bool { return r.Method == http.MethodGet }

func (r Request) isNumber(sent Request) bool { return r.Number == sent.Number }

func (r Request) isLike(other Request) bool {
	return r.Method == other.Method && r.Resource == other.Resource
}

// isRepeated says whether an answer sends the same again.
func (r Request) isRepeated(by Request) bool {
	return r.isLike(by) && r.Name == by.Name
}

// Fault is how a request fails: words for a verdict.
type Fault string

// The faults.
const (
	InternalError Fault = "was answered with 500 InternalError"
	Forbidden     Fault = "was answered with 403 Forbidden"
	NotFound      Fault = "was answered with 404 NotFound"
	Conflict      Fault = "was answered with 409 Conflict"
	Invalid       Fault = "was answered with 422 Invalid"
	// NotSent is no ECONNRESET: client-go repeats a GET after that by itself, a second later.
	NotSent Fault = "was not sent: the connection was refused"
	// AnswerLost means that the server has done what the request says.
	AnswerLost Fault = "was done, but the connection broke before the answer"

	TooManyRequests    Fault = "was answered with 429 TooManyRequests"
	ServerTimeout      Fault = "was answered with 500 ServerTimeout"
	ServiceUnavailable Fault = "was answered with 503 ServiceUnavailable"
	Timeout            Fault = "was answered with 504 Timeout"

	// Terminating is an answer to a create only. Its cause says that the namespace is being deleted.
	Terminating Fault = "was answered with 403 Forbidden, because the namespace is being deleted"
)

// Busy are the faults of a server that has no time. They invite an answer to send again.
var Busy = []Fault{TooManyRequests, ServerTimeout, ServiceUnavailable, Timeout}

var (
	faultsOfReads = []Fault{InternalError, Forbidden, NotFound, NotSent}
	// The last two are those after which the work may be done.
	faultsOfWrites = []Fault{InternalError, Forbidden, NotFound, Invalid, NotSent, Conflict, AnswerLost}
)

// Requests are the requests that were sent with a config of [Failing].
type Requests struct {
	mu     sync.Mutex
	sent   []Request
	failed *Request  // the one that fails
	wrote  bool      // a write has reached the server
	late   []Request // sent with a context that had not ended, after the caller's had
}

// All returns the requests so far.
func (r *Requests) All() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Request(nil), r.sent...)
}

func (r *Requests) add(sent *http.Request) Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	request := Request{Number: len(r.sent) + 1, Method: sent.Method}
	request.Resource, request.Name = object(sent.URL.Path)
	request.hasContext = sent.Context().Value(contextKey{}) != nil
	r.sent = append(r.sent, request)
	return request
}

func (r *Requests) choose(request Request, choose func(Request) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil || !choose(request) {
		return false
	}
	r.failed = &request
	return true
}

// contextKey is the key of a value in the context that an answer is given.
type contextKey struct{}

// Failing returns a copy of config with which one request fails: the first if number is 1, none if it is 0. It also returns
// the requests that are sent with the copy.
func Failing(config *rest.Config, number int, fault Fault) (*rest.Config, *Requests) {
	return failing(config, fault, Request{Number: number}.isNumber)
}

// failing is Failing for the first request that is chosen.
func failing(config *rest.Config, fault Fault, choose func(Request) bool) (*rest.Config, *Requests) {
	var requests *Requests
	config, requests = intercept(config, func(request Request, sent *http.Request, next http.RoundTripper) (*http.Response, error) {
		if requests.choose(request, choose) {
			return fail(request, fault, sent, next)
		}
		return next.RoundTrip(sent)
	})
	return config, requests
}

// ending returns a copy of config that ends a context just before a request is sent. It lets this one and the next ones not
// through.
func ending(config *rest.Config, number int, end context.CancelFunc) (*rest.Config, *Requests) {
	var requests *Requests
	config, requests = intercept(config, func(request Request, sent *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Number < number {
			return next.RoundTrip(sent)
		}
		end()
		if sent.Context().Err() == nil {
			requests.mu.Lock()
			defer requests.mu.Unlock()
			requests.late = append(requests.late, request)
		}
		closeBody(sent)
		return nil, context.Canceled
	})
	return config, requests
}

func intercept(
	config *rest.Config,
	f func(request Request, sent *http.Request, next http.RoundTripper) (*http.Response, error),
) (*rest.Config, *Requests) {
	requests := &Requests{}
	return testkit.Intercept(config, func(sent *http.Request, next http.RoundTripper) (*http.Response, error) {
		reaches := testkit.RoundTripper(func(sent *http.Request) (*http.Response, error) {
			if sent.Method != http.MethodGet {
				requests.mu.Lock()
				requests.wrote = true
				requests.mu.Unlock()
			}
			return next.RoundTrip(sent)
		})
		return f(requests.add(sent), sent, reaches)
	}), requests
}

// fail answers a request with a fault.
func fail(request Request, fault Fault, sent *http.Request, next http.RoundTripper) (*http.Response, error) {
	resource := schema.GroupResource{Resource: request.Resource}
	cause := errors.New("the grader lets this request fail")
	var status *apierrors.StatusError
	switch fault {
	case NotSent:
		closeBody(sent)
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case AnswerLost:
		response, err := next.RoundTrip(sent)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	case InternalError:
		status = apierrors.NewInternalError(cause)
	case Forbidden:
		status = apierrors.NewForbidden(resource, request.Name, cause)
	case Terminating:
		status = apierrors.NewForbidden(resource, request.Name, errors.New("unable to create new content because it is being terminated"))
		status.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: cause.Error()}}
	case NotFound:
		status = apierrors.NewNotFound(resource, request.Name)
	case Conflict:
		status = apierrors.NewConflict(resource, request.Name, cause)
	case Invalid:
		status = apierrors.NewInvalid(schema.GroupKind{Kind: request.Resource}, request.Name, nil)
		status.ErrStatus.Message += cause.Error()
	case TooManyRequests:
		status = apierrors.NewTooManyRequests(cause.Error(), 0)
	case ServerTimeout:
		status = apierrors.NewServerTimeout(resource, sent.Method, 0)
	case ServiceUnavailable:
		status = apierrors.NewServiceUnavailable(cause.Error())
	case Timeout:
		status = apierrors.NewTimeoutError(cause.Error(), 0)
	}
	closeBody(sent)
	return answered(sent, status.ErrStatus)
}

// answered is an answer of the server with a status, as it sends them. It has no Retry-After: client-go would repeat the
// request by itself.
func answered(sent *http.Request, status metav1.Status) (*http.Response, error) {
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: int(status.Code), Status: fmt.Sprintf("%d %s", status.Code, http.StatusText(int(status.Code))),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Request: sent,
	}, nil
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		request.Body.Close()
	}
}

// object returns what a path is about: secrets and db-12 for /api/v1/namespaces/default/secrets/db-12.
func object(path string) (resource, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := map[string]int{"api": 2, "apis": 3}[parts[0]]
	parts = parts[min(skip, len(parts)):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	resource, name, _ = strings.Cut(strings.Join(parts, "/"), "/")
	return resource, name
}

// ordinal returns 1st for 1.
func ordinal(number int) string {
	suffix := "th"
	if number%100 < 11 || number%100 > 13 {
		switch number % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", number, suffix)
}
