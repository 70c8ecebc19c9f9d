package cutter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

func TestCutDropsAndRefuses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/watch" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	var c Cutter
	transport := &http.Transport{DialContext: c.Dial}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	watch, err := client.Get(server.URL + "/watch")
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	if dropped := c.Cut(); dropped != 1 {
		t.Errorf("Cut dropped %d connections, want 1", dropped)
	}
	if _, err := io.ReadAll(watch.Body); err == nil {
		t.Error("the open stream did not notice the cut")
	}
	if _, err := client.Get(server.URL); !utilnet.IsConnectionRefused(err) {
		t.Errorf("a request while cut: %v, want connection refused", err)
	}
	c.Unreachable = true
	if _, err := client.Get(server.URL); !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("a request while cut: %v, want network unreachable", err)
	}
	c.Restore()
	response, err := client.Get(server.URL)
	if err != nil {
		t.Fatalf("a request after Restore: %v", err)
	}
	response.Body.Close()
}

func TestClosedConnectionsAreForgotten(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var c Cutter
	conn, err := c.Dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if dropped := c.Cut(); dropped != 0 {
		t.Errorf("Cut dropped %d connections, want none: the only one was closed before", dropped)
	}
}

func TestRunKeepsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := Cutter{After: 5 * time.Second, For: 2 * time.Second, Times: 3}
		var out bytes.Buffer
		c.Run(t.Context(), &out)
		if took := time.Since(start); took != 21*time.Second {
			t.Errorf("Run took %s, want 3 times 5 s and 2 s", took)
		}
		want := "cutter: dropped 0 connection(s), new ones are refused for 2s\ncutter: connections are let through again\n"
		if got := out.String(); got != want+want+want {
			t.Errorf("Run printed %q", got)
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := Cutter{After: time.Hour, Times: 1}
		c.Run(ctx, io.Discard) // or the bubble ends in a deadlock
	})
}
