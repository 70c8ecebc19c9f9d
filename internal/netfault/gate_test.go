package netfault

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestGate has a server that says what it was asked, and on a watch sends a line as often as the test lets it.
func TestGate(t *testing.T) {
	lines := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			fmt.Fprint(w, r.URL.RawQuery)
			return
		}
		for {
			w.(http.Flusher).Flush()
			select {
			case line := <-lines:
				fmt.Fprintln(w, line)
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close) // after those of the answers: it waits for them
	gate := NewGate("pods")
	client, err := rest.HTTPClientFor(gate.Wrap(&rest.Config{Host: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) *http.Response {
		t.Helper()
		response, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	list := func(path string) string {
		t.Helper()
		scanner := bufio.NewScanner(get(path).Body)
		scanner.Scan()
		return scanner.Text()
	}

	received := make(chan string)
	watch := bufio.NewScanner(get("/pods?watch=1&resourceVersion=3").Body)
	go func() {
		defer close(received)
		for watch.Scan() {
			received <- watch.Text()
		}
	}()
	expect := func(want string) {
		t.Helper()
		if got := <-received; got != want {
			t.Errorf("received %q, want %q", got, want)
		}
	}
	gate.Open() // it is
	lines <- "a"
	expect("a")
	gate.CloseAt("7")
	lines <- "b"
	select {
	case line := <-received:
		t.Errorf("a closed gate lets %q through", line)
	case <-time.After(50 * time.Millisecond):
	}
	if got, want := list("/pods?limit=5"), "limit=5&resourceVersion=7&resourceVersionMatch=Exact"; got != want {
		t.Errorf("the server was asked for %q, want %q", got, want)
	}
	if got := list("/secrets?limit=5"); got != "limit=5" {
		t.Errorf("the server was asked for %q", got)
	}
	if code := get("/pods?watch=1&sendInitialEvents=true").StatusCode; code != http.StatusUnprocessableEntity {
		t.Errorf("a streaming list: %d", code)
	}
	gate.Open()
	expect("b")
	if got := list("/pods?limit=5"); got != "limit=5" {
		t.Errorf("the server was asked for %q", got)
	}
	gate.Expire()
	if line, open := <-received; open || watch.Err() == nil {
		t.Errorf("an expired watch: %q, %v, want an error", line, watch.Err())
	}
	if code := get("/pods?watch=1&sendInitialEvents=true").StatusCode; code != http.StatusOK {
		t.Errorf("a streaming list after it: %d", code)
	}
	for _, want := range []int{http.StatusGone, http.StatusOK} {
		if code := get("/pods?watch=1&resourceVersion=3").StatusCode; code != want {
			t.Errorf("a watch after it: %d, want %d", code, want)
		}
	}
}
