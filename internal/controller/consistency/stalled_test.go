package consistency

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStoreThatStaysBehindIsStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalled, upToDate := storeAt("99"), storeAt("100")
		s := New()
		s.WroteAt(orders, "Deployment", upToDate, "100")
		s.WroteAt(orders, "Service", stalled, "100")
		time.Sleep(StalledAfter)
		if err := s.EnsureReady(orders); !errors.Is(err, ErrStale) || errors.Is(err, ErrWatchStalled) {
			t.Errorf("after %s: %v, want ErrStale", StalledAfter, err)
		}
		s.WroteAt(orders, "Deployment", upToDate, "101") // behind, too, but not for long
		time.Sleep(time.Second)
		if err := s.EnsureReady(orders); !errors.Is(err, ErrWatchStalled) || !IsConflictOrStale(err) {
			t.Errorf("after one more second: %v, want ErrWatchStalled", err)
		} else if want := "last write to a Service from the API server for more than 30s"; !strings.Contains(err.Error(), want) {
			t.Errorf("after one more second: %v, want %q", err, want)
		}
		time.Sleep(StalledAfter)
		want := "last write to a Deployment and a Service from"
		if err := s.EnsureReady(orders); !strings.Contains(err.Error(), want) {
			t.Errorf("both are behind for long: %v, want %q", err, want)
		}
		s.WroteAt(orders, "Deployment", upToDate, "101")
		stalled.Bookmark("100")
		if err := s.EnsureReady(orders); !errors.Is(err, ErrStale) || errors.Is(err, ErrWatchStalled) {
			t.Errorf("only the other store is behind, and not for long: %v, want ErrStale", err)
		}
		upToDate.Bookmark("101")
		time.Sleep(time.Hour)
		if err := s.EnsureReady(orders); err != nil {
			t.Errorf("all stores have all writes: %v", err)
		}
	})
}
