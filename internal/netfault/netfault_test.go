package netfault

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

	"example.com/client-go-workbook/internal/test/testkit"
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

	watch := testkit.Must(client.Get(server.URL + "/watch"))(t)
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

// TestSilentCut has a server that echoes. After the cut nothing comes back, and nothing fails, until the client closes.
func TestSilentCut(t *testing.T) {
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go io.Copy(conn, conn)
		}
	}()
	c := Cutter{Silent: true}
	dial := func(ctx context.Context) (net.Conn, error) {
		return c.Dial(ctx, "tcp", listener.Addr().String())
	}
	echo := func(conn net.Conn) error {
		_, err := conn.Write([]byte("x"))
		if err == nil {
			_, err = io.ReadFull(conn, make([]byte, 1))
		}
		return err
	}
	conn := testkit.Must(dial(t.Context()))(t)
	if err := echo(conn); err != nil {
		t.Fatalf("before the cut: %v", err)
	}
	if silenced := c.Cut(); silenced != 1 {
		t.Errorf("Cut silenced %d connections, want 1", silenced)
	}
	ended := make(chan error, 1)
	go func() { ended <- echo(conn) }()
	hanging := make(chan error, 1)
	go func() {
		conn, err := dial(t.Context())
		if err == nil {
			err = echo(conn)
			conn.Close()
		}
		hanging <- err
	}()
	limited, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := dial(limited); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a new connection while cut: %v, want none until the deadline", err)
	}
	select {
	case err := <-ended:
		t.Errorf("the silenced connection has ended: %v", err)
	case err := <-hanging:
		t.Errorf("a new connection got through while cut: %v", err)
	default:
	}
	c.Restore()
	if err := <-hanging; err != nil {
		t.Errorf("a connection that waited for Restore: %v", err)
	}
	select {
	case err := <-ended:
		t.Errorf("Restore has ended the silenced connection: %v", err)
	default:
	}
	conn.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the silenced connection after Close: %v, want %v", err, net.ErrClosed)
	}
	if _, err := conn.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write after Close: %v, want %v", err, net.ErrClosed)
	}
}

func TestClosedConnectionsAreForgotten(t *testing.T) {
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	var c Cutter
	conn := testkit.Must(c.Dial(t.Context(), "tcp", listener.Addr().String()))(t)
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
		want := "cutter: dropped 0 connection(s), new ones are refused for 2s\ncutter: new connections are let through again\n"
		if got := out.String(); got != want+want+want {
			t.Errorf("Run printed %q", got)
		}
	})
}

func TestRunCutsForNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Cutter{After: 5 * time.Second, Silent: true, Times: 1}
		var out bytes.Buffer
		c.Run(t.Context(), &out)
		if got := out.String(); got != "cutter: silenced 0 connection(s), new ones work\n" {
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
