// Package requestlog prints and counts the HTTP requests that a program sends.
//
// A [Log] wraps the transport of a rest.Config. So it sees each request as it is sent: path and parameters, the time until
// the response ended, and the number of bytes in it.
package requestlog

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Log counts requests, and prints them where Line is set.
type Log struct {
	Line func(word, format string, args ...any)

	requests atomic.Int64
}

// Requests returns how many requests were sent so far.
func (l *Log) Requests() int {
	return int(l.requests.Load())
}

// Wrap puts the log between a client and its transport. It is for rest.Config's Wrap.
func (l *Log) Wrap(transport http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		number := l.requests.Add(1)
		start := time.Now()
		l.print("#%d %s %s", number, request.Method, request.URL.RequestURI())
		response, err := transport.RoundTrip(request)
		if err != nil {
			l.print("#%d failed: %v", number, err)
			return response, err
		}
		if request.URL.Query().Get("watch") != "" {
			l.print("#%d %s in %s, stays open", number, response.Status, time.Since(start).Round(time.Millisecond))
		}
		response.Body = &body{ReadCloser: response.Body, ended: func(bytes int64) {
			l.print("#%d %s, ended after %s, %d bytes", number, response.Status, time.Since(start).Round(time.Millisecond), bytes)
		}}
		return response, nil
	})
}

func (l *Log) print(format string, args ...any) {
	if l.Line != nil {
		l.Line("WIRE", format, args...)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// body counts what is read and reports once: at the end of the stream, at an error, or when it is closed.
type body struct {
	io.ReadCloser
	bytes atomic.Int64
	once  sync.Once
	ended func(bytes int64)
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	total := b.bytes.Add(int64(n))
	if err != nil {
		b.once.Do(func() { b.ended(total) })
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(func() { b.ended(b.bytes.Load()) })
	return err
}
