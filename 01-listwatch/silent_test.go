package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/netfault"
)

// TestSilentConnection has a real HTTP/2 connection on which, from one moment on, all packets disappear. client-go
// notices it by a ping without an answer.
func TestSilentConnection(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1") // instead of 30
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")      // instead of 15
	retryAtOnce(t)

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
		nth := watches.Add(1)
		if rv := r.URL.Query().Get("resourceVersion"); rv != "10" && nth <= 2 {
			t.Errorf("a watch from resourceVersion %q, want 10", rv)
		}
		if nth == 1 {
			fmt.Fprint(w, event("BOOKMARK", podEnd)) // of resourceVersion 10: the watch is open, and has no progress
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
	cut := netfault.Cutter{Silent: true}
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return cut.Dial(ctx, network, address)
	}
	pods := selection{resource: "pods", labels: labels.Everything(), fields: fields.Everything()}
	listWatch, err := newListWatch(t.Context(), config, pods)
	if err != nil {
		t.Fatal(err)
	}
	out := startWatcher(t, listWatch)
	awaitLine(t, out, "BOOKMARK resourceVersion 10")
	if silenced := cut.Cut(); silenced != 1 {
		t.Errorf("silenced %d connections, want 1", silenced)
	}
	cut.Restore() // for new connections
	awaitLine(t, out, "MODIFIED x/a resourceVersion 11")
	printed := out.String()
	// On a busy machine, a ping of a good connection can take longer than a second, too.
	lost := strings.Count(printed, ": the connection to the server is lost: http2: client connection lost\n")
	if lost == 0 || strings.Count(printed, "RETRY ") != lost || strings.Contains(printed, "UNREADABLE") {
		t.Errorf("printed, want a RETRY for the connection that was lost:\n%s", printed)
	}
	if n := int(dials.Load()); lists.Load() != 1 || n != 1+lost {
		t.Errorf("%d lists and %d connections, want 1, and one more than the %d that were lost", lists.Load(), n, lost)
	}
}
