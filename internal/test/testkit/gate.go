package testkit

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Gate holds what the server sends on the watches of a resource, while it is closed. A client that starts while it is
// closed can also be given the resource's past. Writes, and reads of one object, are not changed.
type Gate struct {
	Delay time.Duration // for all that comes through; must not change

	resource string

	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
	past string        // the resourceVersion of lists; empty: the newest
}

// NewGate returns an open gate for a resource, such as "deployments".
func NewGate(resource string) *Gate {
	g := &Gate{resource: resource, open: make(chan struct{})}
	close(g.open)
	return g
}

// Open lets everything through that was held, and all that comes. An open gate stays open.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.past = ""
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// Close holds what comes from now on.
func (g *Gate) Close() { g.CloseAt("") }

// CloseAt closes the gate, and has lists answered as they were at that resourceVersion: a client that starts now knows no
// more. Streaming lists are refused, because the server answers none as of the past.
func (g *Gate) CloseAt(resourceVersion string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.past = resourceVersion
	select {
	case <-g.open:
		g.open = make(chan struct{})
	default:
	}
}

// Wrap returns a copy of config whose requests go through the gate.
func (g *Gate) Wrap(config *rest.Config) *rest.Config {
	return Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodGet || !strings.HasSuffix(request.URL.Path, "/"+g.resource) {
			return next.RoundTrip(request)
		}
		g.mu.Lock()
		past := g.past
		g.mu.Unlock()
		query := request.URL.Query()
		watch := query.Get("watch") != ""
		switch {
		case past != "" && query.Get("sendInitialEvents") == "true":
			return &http.Response{StatusCode: http.StatusUnprocessableEntity, Body: http.NoBody, Request: request}, nil
		case past != "" && !watch:
			query.Set("resourceVersion", past)
			query.Set("resourceVersionMatch", "Exact")
			request = request.Clone(request.Context())
			request.URL.RawQuery = query.Encode()
		}
		response, err := next.RoundTrip(request)
		if err == nil && watch {
			response.Body = &gatedBody{response.Body, g, request.Context()}
		}
		return response, err
	})
}

type gatedBody struct {
	io.ReadCloser
	gate *Gate
	ctx  context.Context
}

func (b *gatedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.gate.mu.Lock()
	open := b.gate.open
	b.gate.mu.Unlock()
	delay := time.NewTimer(b.gate.Delay)
	defer delay.Stop()
	if !received(b.ctx, open) || !received(b.ctx, delay.C) {
		return 0, b.ctx.Err()
	}
	return n, err
}

// received waits for c, and returns false if ctx ends first.
func received[T any](ctx context.Context, c <-chan T) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}
