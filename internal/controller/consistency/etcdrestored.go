package consistency

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// RelistAfterOutage returns a copy of config with which informers list again if the server was away.
//
// Client-go itself resumes: it watches on from the version that it has seen last. If etcd was restored from a snapshot
// meanwhile, the server has not come to this version yet. It accepts the watch all the same, and sends nothing. A streaming
// list is different: the server rejects a version that it does not have, and client-go then takes what there is. So in the
// place of "connection refused", client-go gets what a load balancer would answer. At that, it lists.
func RelistAfterOutage(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			query := request.URL.Query()
			resumes := query.Has("watch") && !query.Has("sendInitialEvents")
			if err != nil && resumes && request.Context().Err() == nil {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: request}, nil
			}
			return response, err
		})
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// restoredError is an ErrStale that does not end.
type restoredError struct{ before, now string }

func (e restoredError) Error() string {
	return fmt.Sprintf("the server was at resourceVersion %s, and is at %s now: etcd was restored from a snapshot. "+
		"What this process knows is of a history that is lost: start it again", e.before, e.now)
}

func (restoredError) Unwrap() error { return ErrStale }

// EndIfRestored lets EnsureReady also compare the stores of these informers with what they were. If one goes back, end is
// called with the error that says so, and no object is ready any more: some of the stores are of the lost history, others
// are not.
func (s *Store) EndIfRestored(end context.CancelCauseFunc, informers ...cache.SharedInformer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = end
	for _, informer := range informers {
		s.newest[informer.GetStore()] = ""
	}
}

// Healthz returns a check for /healthz, which fails if a store has gone back, or with the error of another check.
func (s *Store) Healthz(another func(*http.Request) error) func(*http.Request) error {
	return func(request *http.Request) error { return cmp.Or(s.Restored(), another(request)) }
}

// Restored returns an error if a store has gone back.
func (s *Store) Restored() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for store, newest := range s.newest {
		version := store.LastStoreSyncResourceVersion()
		order, err := resourceversion.CompareResourceVersion(version, newest)
		if s.restored == nil && err == nil && order < 0 {
			s.restored = restoredError{newest, version}
		}
		if version != "" {
			s.newest[store] = version
		}
	}
	return s.restored
}
