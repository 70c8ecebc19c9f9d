package netfault

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
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

	mu      sync.Mutex
	open    chan struct{} // closed while the gate is open
	past    string        // the resourceVersion of lists; empty: the newest
	expired bool          // the next watch is answered 410
	watches map[*gatedBody]struct{}
}

// NewGate returns an open gate for a resource, such as "deployments".
func NewGate(resource string) *Gate {
	g := &Gate{resource: resource, open: make(chan struct{}), watches: map[*gatedBody]struct{}{}}
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

// Expire breaks the open watches in the middle of what they are sending. The next watch is answered 410, as when the server knows
// nothing any more about a resourceVersion so old: the client has to list again, and sees no event of the meantime.
func (g *Gate) Expire() {
	g.mu.Lock()
	g.expired = true
	watches := slices.Collect(maps.Keys(g.watches))
	for _, watch := range watches {
		watch.broken = true
	}
	g.mu.Unlock()
	for _, watch := range watches {
		watch.ReadCloser.Close() // ends a Read with an error
	}
}

// Wrap returns a copy of config whose requests go through the gate.
func (g *Gate) Wrap(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(g.transport)
	return config
}

func (g *Gate) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet || !strings.HasSuffix(request.URL.Path, "/"+g.resource) {
			return next.RoundTrip(request)
		}
		query := request.URL.Query()
		watch, _ := strconv.ParseBool(query.Get("watch"))
		g.mu.Lock()
		past, expired := g.past, g.expired && watch && query.Get("resourceVersion") != ""
		g.expired = g.expired && !expired
		g.mu.Unlock()
		switch {
		case expired:
			return &http.Response{
				StatusCode: http.StatusGone, Request: request, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(gone)),
			}, nil
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
			body := &gatedBody{ReadCloser: response.Body, gate: g, ctx: request.Context()}
			g.mu.Lock()
			g.watches[body] = struct{}{}
			g.mu.Unlock()
			response.Body = body
		}
		return response, err
	})
}

const gone = `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Expired", "code": 410,
	"message": "too old resource version"}`

type gatedBody struct {
	io.ReadCloser
	gate   *Gate
	ctx    context.Context
	broken bool // by Expire: what it holds is lost, too
}

func (b *gatedBody) Close() error {
	b.gate.mu.Lock()
	delete(b.gate.watches, b)
	b.gate.mu.Unlock()
	return b.ReadCloser.Close()
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
	b.gate.mu.Lock()
	defer b.gate.mu.Unlock()
	if b.broken {
		return 0, io.ErrUnexpectedEOF
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
