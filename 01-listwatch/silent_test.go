package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// TestNetworkThatFallsSilent has a real HTTP/2 connection over which, from one moment on, nothing comes any more: as
// after a laptop's sleep. client-go notices by a ping without an answer.
func TestNetworkThatFallsSilent(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1") // in place of 30
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")      // in place of 15
	impatient(t)

	silence := make(chan struct{})
	var lists, watches atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.ProtoMajor != 2:
			t.Errorf("%s came over %s: the test needs HTTP/2", r.URL, r.Proto)
		case r.URL.Query().Get("watch") == "":
			lists.Add(1)
			fmt.Fprint(w, list10)
			return
		}
		if version := r.URL.Query().Get("resourceVersion"); version != "10" {
			t.Errorf("a watch from version %q, want 10", version)
		}
		if watches.Add(1) == 1 {
			fmt.Fprint(w, event("BOOKMARK", podEnd)) // of version 10: the watch is open, and has got no further
		} else {
			fmt.Fprint(w, event("MODIFIED", podA11))
		}
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close) // after the watcher, whose request it would wait for

	var dials atomic.Int32
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil && dials.Add(1) == 1 {
			conn = &silentConn{Conn: conn, silence: silence, closed: make(chan struct{})}
		}
		return conn, err
	}
	listWatch, err := newListWatch(t.Context(), config, selection{resource: "pods", labels: labels.Everything(), fields: fields.Everything()})
	if err != nil {
		t.Fatal(err)
	}
	out := startWatcher(t, listWatch)
	out.await(t, "BOOKMARK resourceVersion 10")
	close(silence)
	out.await(t, "MODIFIED x/a resourceVersion 11")
	printed := strings.Join(out.lines(), "\n")
	if !strings.Contains(printed, "RETRY") || !strings.Contains(printed, ": the connection to the server is lost: http2: client connection lost\n") || strings.Contains(printed, "UNREADABLE") {
		t.Errorf("printed, want a RETRY for the connection that was lost:\n%s", printed)
	}
	if lists.Load() != 1 || dials.Load() != 2 {
		t.Errorf("%d lists and %d connections, want 1 and 2", lists.Load(), dials.Load())
	}
}

// silentConn is a connection that can fall silent: from then on nothing comes from it, until it is closed.
type silentConn struct {
	net.Conn
	silence, closed chan struct{}
	once            sync.Once
}

func (c *silentConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.silence:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (c *silentConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
