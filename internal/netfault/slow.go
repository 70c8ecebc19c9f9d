package netfault

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// SlowWatches lets all that a watch brings arrive later, by delay. An informer's store is then as late. It is for
// rest.Config's Wrap.
func SlowWatches(delay time.Duration) func(http.RoundTripper) http.RoundTripper {
	return func(transport http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := transport.RoundTrip(request)
			if err == nil && request.URL.Query().Has("watch") {
				response.Body = newSlowBody(response.Body, delay)
			}
			return response, err
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// slowBody is a body whose parts can be read some time after they have arrived.
type slowBody struct {
	body    io.ReadCloser
	arrived chan part
	closed  chan struct{}
	close   sync.Once
	reading sync.WaitGroup
	current part
}

type part struct {
	data  []byte
	err   error // after data
	ready time.Time
}

func newSlowBody(body io.ReadCloser, delay time.Duration) *slowBody {
	b := &slowBody{body: body, arrived: make(chan part, 1024), closed: make(chan struct{})}
	b.reading.Go(func() { // until the body ends, or is closed
		for {
			data := make([]byte, 16<<10)
			n, err := body.Read(data)
			select {
			case b.arrived <- part{data[:n], err, time.Now().Add(delay)}:
			case <-b.closed:
				return
			}
			if err != nil {
				return
			}
		}
	})
	return b
}

func (b *slowBody) Read(p []byte) (int, error) {
	for len(b.current.data) == 0 {
		if b.current.err != nil {
			return 0, b.current.err
		}
		select {
		case b.current = <-b.arrived:
		case <-b.closed:
			return 0, http.ErrBodyReadAfterClose
		}
		select {
		case <-time.After(time.Until(b.current.ready)):
		case <-b.closed:
			return 0, http.ErrBodyReadAfterClose
		}
	}
	n := copy(p, b.current.data)
	b.current.data = b.current.data[n:]
	return n, nil
}

func (b *slowBody) Close() error {
	b.close.Do(func() { close(b.closed) })
	err := b.body.Close() // ends a Read of the goroutine
	b.reading.Wait()
	return err
}
