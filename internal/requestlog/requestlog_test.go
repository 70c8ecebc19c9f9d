package requestlog

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
)

func TestLogShowsAndCountsRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, "12345")
	}))
	var out bytes.Buffer
	log := Log{Line: func(word, format string, args ...any) { fmt.Fprintf(&out, word+" "+format+"\n", args...) }}
	client := &http.Client{Transport: log.Wrap(server.Client().Transport)}
	for _, path := range []string{"/list?limit=1", "/missing", "/list?watch=true"} {
		response, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Error(err)
		}
		response.Body.Close()
	}
	server.Close()
	if _, err := client.Get(server.URL + "/gone"); err == nil {
		t.Error("a request to a closed server went well")
	}

	want := regexp.MustCompile(`^WIRE #1 GET /list\?limit=1
WIRE #1 200 OK, ended after \S+, 5 bytes
WIRE #2 GET /missing
WIRE #2 404 Not Found, ended after \S+, 5 bytes
WIRE #3 GET /list\?watch=true
WIRE #3 200 OK in \S+, stays open
WIRE #3 200 OK, ended after \S+, 5 bytes
WIRE #4 GET /gone
WIRE #4 failed: .*refused
$`)
	if !want.MatchString(out.String()) {
		t.Errorf("printed:\n%s\nwant:\n%s", out.String(), want)
	}
	if got := log.Requests(); got != 4 {
		t.Errorf("Requests() = %d, want 4", got)
	}
}
