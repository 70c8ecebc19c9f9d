// Package consistency shows whether an informer's store has a controller's own writes, and what to do if not.
//
// A store is always a little behind the server. A sync between a write and its event would see the state from before, and
// write the same again. A [Store] remembers each write until the informers' stores have it. It is a small copy of the one
// that Kubernetes' own controllers use, in pkg/controller/util/consistency.
package consistency

import (
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/features"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// ErrStale means that a store, or what was read from it, is older than the server's state. A later look finds it better.
var ErrStale = errors.New("seen too early")

// IsRace reports whether an error says that somebody was faster, or a store is late. That is no failure: another look
// finds the newer state.
func IsRace(err error) bool { return apierrors.IsConflict(err) || errors.Is(err, ErrStale) }

// NewBackoff returns how long a key waits after a race: 50 ms, 100 ms, and so on up to 10 s. It is not the queue's
// backoff, because that one lets few failures through in a second, and after a burst of writes all stores are late.
func NewBackoff() workqueue.TypedRateLimiter[cache.ObjectName] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](50*time.Millisecond, 10*time.Second)
}

// Store remembers what a controller has written for each owner, until the informers' stores have it, too.
type Store struct {
	mu     sync.Mutex
	writes map[cache.ObjectName]map[cache.Store]string // by owner and store: the resourceVersion of our newest write
}

// New returns a Store without writes.
func New() *Store {
	return &Store{writes: map[cache.ObjectName]map[cache.Store]string{}}
}

// WroteAt records a write of an object that belongs into the store.
func (s *Store) WroteAt(owner cache.ObjectName, store cache.Store, resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes[owner] == nil {
		s.writes[owner] = map[cache.Store]string{}
	}
	s.writes[owner][store] = resourceVersion
}

// EnsureReady returns nil if the stores are as new as all that was written for an owner, and ErrStale if not.
func (s *Store) EnsureReady(owner cache.ObjectName) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for store, wrote := range s.writes[owner] {
		read := store.LastStoreSyncResourceVersion()
		order, err := resourceversion.CompareResourceVersion(read, wrote)
		if err == nil && order < 0 { // an error: there is no version to compare, see LogIfOff
			return fmt.Errorf("a store has resourceVersion %s, and not yet our write %s: %w", read, wrote, ErrStale)
		}
	}
	delete(s.writes, owner)
	return nil
}

// Len returns how many owners have writes that no EnsureReady has found in the stores yet.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writes)
}

// Clear forgets an owner that is gone.
func (s *Store) Clear(owner cache.ObjectName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writes, owner)
}

// LogIfOff says so if EnsureReady has nothing to compare with: a store has a resourceVersion only with the
// feature gate AtomicFIFO. The controller is still right without the check, but writes some things twice.
func LogIfOff(logger klog.Logger) {
	if !features.FeatureGates().Enabled(features.AtomicFIFO) {
		logger.Info("The feature gate AtomicFIFO is off, so it is not checked whether the stores have our own writes")
	}
}
