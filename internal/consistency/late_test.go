package consistency

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestStoreThatStaysBehindIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late, upToDate := storeAt("99"), storeAt("100")
		s := New()
		s.WroteAt(orders, upToDate, "100")
		s.WroteAt(orders, late, "100")
		time.Sleep(LateAfter)
		if err := s.EnsureReady(orders); !errors.Is(err, ErrStale) || errors.Is(err, ErrLate) {
			t.Errorf("after %s: %v, want ErrStale", LateAfter, err)
		}
		s.WroteAt(orders, upToDate, "101") // behind, too, but not for long
		time.Sleep(time.Second)
		if err := s.EnsureReady(orders); !errors.Is(err, ErrLate) || !IsRace(err) {
			t.Errorf("after one more second: %v, want ErrLate", err)
		}
		late.Bookmark("100")
		if err := s.EnsureReady(orders); !errors.Is(err, ErrStale) || errors.Is(err, ErrLate) {
			t.Errorf("only the other store is behind, and not for long: %v, want ErrStale", err)
		}
		upToDate.Bookmark("101")
		time.Sleep(time.Hour)
		if err := s.EnsureReady(orders); err != nil {
			t.Errorf("all stores have all writes: %v", err)
		}
	})
}
