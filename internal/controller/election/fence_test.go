package election

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// slowLock is a lock whose server answers after a while.
type slowLock struct {
	resourcelock.Interface // none of the other methods is called
	delay                  time.Duration
	holder                 string
}

func (l *slowLock) Identity() string { return "me" }

func (l *slowLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, l.wait(ctx)
}

func (l *slowLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.holder = record.HolderIdentity
	return l.wait(ctx)
}

func (l *slowLock) wait(ctx context.Context) error {
	select {
	case <-time.After(l.delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestFence(t *testing.T) {
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}
	for name, test := range map[string]struct {
		before func(t *testing.T, server *slowLock, lock resourcelock.Interface)
		open   bool
		lost   int
	}{
		"before the first renewal": {func(*testing.T, *slowLock, resourcelock.Interface) {}, false, 0},
		"after a renewal": {func(t *testing.T, _ *slowLock, lock resourcelock.Interface) {
			renew(t, lock, mine)
			time.Sleep(10*time.Second - 1)
		}, true, 0},
		"too long after a renewal": {func(t *testing.T, _ *slowLock, lock resourcelock.Interface) {
			renew(t, lock, mine)
			time.Sleep(10 * time.Second)
		}, false, 1},
		"too long after a renewal was sent": {func(t *testing.T, server *slowLock, lock resourcelock.Interface) {
			server.delay = 4 * time.Second
			renew(t, lock, mine)
			time.Sleep(6 * time.Second)
		}, false, 1},
		"another process holds the lock": {func(t *testing.T, server *slowLock, lock resourcelock.Interface) {
			renew(t, lock, mine)
			server.holder = "another"
			if _, _, err := lock.Get(t.Context()); err != nil {
				t.Error(err)
			}
			renew(t, lock, mine) // too late: another process has written in between
		}, false, 1},
		"another process holds the lock first": {func(t *testing.T, server *slowLock, lock resourcelock.Interface) {
			server.holder = "another"
			if _, _, err := lock.Get(t.Context()); err != nil {
				t.Error(err)
			}
			renew(t, lock, mine)
		}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f fence
				lost, sent := 0, 0
				server := &slowLock{}
				test.before(t, server, f.lock(server, 10*time.Second, func() { lost++ }))
				transport := f.wrap(roundTripper(func(*http.Request) (*http.Response, error) {
					sent++
					return nil, nil
				}))
				for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
					request, _ := http.NewRequest(method, "https://example.com", strings.NewReader("{}"))
					if _, err := transport.RoundTrip(request); errors.Is(err, errNotLeading) == test.open {
						t.Errorf("%s: error %v", method, err)
					}
				}
				if want := map[bool]int{true: 4}[test.open]; sent != want || lost != test.lost {
					t.Errorf("%d writes sent, lost %d times; want %d, %d", sent, lost, want, test.lost)
				}
				request, _ := http.NewRequest(http.MethodGet, "https://example.com", nil)
				if _, err := transport.RoundTrip(request); err != nil {
					t.Errorf("a read: %v", err)
				}
			})
		})
	}
}

// TestRenewalIsFinished stops the elector while a renewal is on its way.
func TestRenewalIsFinished(t *testing.T) {
	for delay, want := range map[time.Duration]error{time.Second / 2: nil, time.Hour: context.Canceled} {
		synctest.Test(t, func(t *testing.T) {
			var f fence
			lock := f.lock(&slowLock{delay: delay}, 10*time.Second, func() {})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			if err := lock.Update(ctx, resourcelock.LeaderElectionRecord{}); !errors.Is(err, want) {
				t.Errorf("a renewal that takes %s: error %v, want %v", delay, err, want)
			}
		})
	}
}

func renew(t *testing.T, lock resourcelock.Interface, record resourcelock.LeaderElectionRecord) {
	t.Helper()
	if err := lock.Update(t.Context(), record); err != nil {
		t.Error(err)
	}
}
