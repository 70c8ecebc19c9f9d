package consistency

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func TestStoreThatGoesBack(t *testing.T) {
	secrets := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Secret{}, 0, nil)
	services := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Service{}, 0, nil)
	var ended []error
	s := New()
	s.EndIfRestored(func(err error) { ended = append(ended, err) }, secrets, services)
	for _, version := range []string{"", "99", "99", "100"} { // before the first list, and then later and later
		services.GetStore().Bookmark(version)
		if err := errors.Join(s.EnsureReady(orders), s.Restored()); err != nil || ended != nil {
			t.Fatalf("at %q: %v, %v", version, err, ended)
		}
	}
	secrets.GetStore().Bookmark("50") // older than the other store, which says nothing
	if err := s.EnsureReady(orders); err != nil {
		t.Fatalf("the first version of another store: %v", err)
	}

	services.GetStore().Bookmark("60")
	healthz := s.Healthz(func(*http.Request) error { return nil })
	if err := healthz(nil); err == nil || ended != nil {
		t.Errorf("a check of the health returns %v, and has ended %v", err, ended)
	}
	services.GetStore().Bookmark("101") // the new history has come as far as the lost one
	err := s.EnsureReady(orders)
	if len(ended) != 1 || !errors.Is(err, ended[0]) || !IsConflictOrStale(err) || errors.Is(err, ErrWatchStalled) {
		t.Errorf("EnsureReady returns %v, and has ended %v", err, ended)
	}
	if text := s.Restored().Error(); !strings.Contains(text, "was at resourceVersion 100, and is at 60 now: etcd was restored") {
		t.Error(text)
	}
}

// TestOnlyAResumedWatchIsAnsweredBy503 shows which requests RelistAfterOutage changes: those for which client-go would
// otherwise wait until the server is there again, and then resume.
func TestOnlyAResumedWatchIsAnsweredBy503(t *testing.T) {
	const resume = "watch=true&resourceVersion=99"
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx      context.Context
		query    string
		fails    error
		response int
	}{
		"a watch that resumes":                  {t.Context(), resume, nil, http.StatusOK},
		"it is refused":                         {t.Context(), resume, syscall.ECONNREFUSED, http.StatusServiceUnavailable},
		"the connection breaks":                 {t.Context(), resume, syscall.ECONNRESET, http.StatusServiceUnavailable},
		"the informer is stopped":               {over, resume, context.Canceled, 0},
		"a streaming list is refused":           {t.Context(), resume + "&sendInitialEvents=true", syscall.ECONNREFUSED, 0},
		"a list is refused":                     {t.Context(), "resourceVersion=99", syscall.ECONNREFUSED, 0},
		"something else, a write, say, refused": {t.Context(), "", syscall.ECONNREFUSED, 0},
	} {
		t.Run(name, func(t *testing.T) {
			config := RelistAfterOutage(&rest.Config{})
			transport := config.WrapTransport(roundTripper(func(*http.Request) (*http.Response, error) {
				if test.fails != nil {
					return nil, test.fails
				}
				return &http.Response{StatusCode: http.StatusOK}, nil
			}))
			request, err := http.NewRequestWithContext(test.ctx, http.MethodGet, "https://example.com/api/v1/secrets?"+test.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := transport.RoundTrip(request)
			if test.response == 0 {
				if response != nil || !errors.Is(err, test.fails) {
					t.Errorf("got %v, %v, want the error", response, err)
				}
			} else if err != nil || response.StatusCode != test.response {
				t.Errorf("got %v, %v, want %d", response, err, test.response)
			}
		})
	}
}
