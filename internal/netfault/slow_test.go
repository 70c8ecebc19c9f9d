package netfault

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// open makes a request to a server that answers with what is written to the pipe.
func open(t *testing.T, delay time.Duration, url string) (body io.ReadCloser, server *io.PipeWriter) {
	t.Helper()
	reader, server := io.Pipe()
	transport := roundTripper(func(request *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: reader, Request: request}, nil
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := SlowWatches(delay)(transport).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	return response.Body, server
}

func TestSlowWatches(t *testing.T) {
	for url, late := range map[string]time.Duration{
		"http://server/api/v1/pods":            0,
		"http://server/api/v1/pods?watch=true": 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			body, server := open(t, 2*time.Second, url)
			defer body.Close()
			start := time.Now()
			go func() {
				for _, event := range []string{"one", "two"} { // the second before the first can be read
					_, _ = io.WriteString(server, event)
					time.Sleep(time.Second)
				}
				server.Close()
			}()
			for _, want := range []struct {
				text string
				at   time.Duration
			}{{"o", 0}, {"ne", 0}, {"two", time.Second}} { // a decoder may read a length first
				got := make([]byte, len(want.text))
				_, err := io.ReadFull(body, got)
				if at := time.Since(start); err != nil || string(got) != want.text || at != want.at+late {
					t.Errorf("%s: %q, %v after %s; want %q after %s", url, got, err, at, want.text, want.at+late)
				}
			}
			if rest, err := io.ReadAll(body); len(rest) > 0 || err != nil || time.Since(start) != 2*time.Second+late {
				t.Errorf("%s: then %q, %v after %s", url, rest, err, time.Since(start))
			}
		})
	}
}

// TestSlowWatchIsClosed shows that a watch that is closed does not wait, and leaves no goroutine in the bubble.
func TestSlowWatchIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, server := open(t, time.Hour, "http://server/api/v1/pods?watch=true")
		start := time.Now()
		time.AfterFunc(time.Second, func() { body.Close() })
		go io.WriteString(server, "event")
		if rest, err := io.ReadAll(body); len(rest) > 0 || !errors.Is(err, http.ErrBodyReadAfterClose) || time.Since(start) != time.Second {
			t.Errorf("%q, %v after %s", rest, err, time.Since(start))
		}
	})
}
