// Package consistency shows whether an informer's store has a controller's own writes, and what to do if not.
//
// A store is always a little behind the server. A reconcile between a write and its event would see the state from before,
// and write the same again. A [Store] remembers each write until the informers' stores have it. It is a small copy of the
// ConsistencyStore of Kubernetes' own controllers, in pkg/controller/util/consistency. Unlike that one, it also reports if a
// store is behind for so long that its watch probably hangs ([ErrWatchStalled]), and if one goes back ([Store.EndIfRestored]).
package consistency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/features"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// ErrStale means that a store, or an object that was read from it, is older than the server's state.
var ErrStale = errors.New("the store is not up to date yet")

// ErrWatchStalled is an ErrStale of a store that has not had a write for more than StalledAfter.
var ErrWatchStalled error = watchStalledError{}

type watchStalledError struct{}

func (watchStalledError) Error() string { return "the watch may hang, and the store be out of date" }

func (watchStalledError) Unwrap() error { return ErrStale }

// StalledAfter is how long a store can be behind before EnsureReady returns ErrWatchStalled. Events usually take milliseconds, and
// after a burst of writes seconds.
const StalledAfter = 30 * time.Second

// IsConflictOrStale reports whether an error means that another client was faster, or that a store is not up to date. That is
// no failure: a later sync reads the newer state.
func IsConflictOrStale(err error) bool { return apierrors.IsConflict(err) || errors.Is(err, ErrStale) }

// Store remembers what a controller has written for each owner, until the informers' stores have it, too. An owner is the
// object whose key is in the queue: no two workers use the same one at the same time.
type Store struct {
	mu     sync.Mutex
	writes map[cache.ObjectName]map[cache.Store]write // by owner and store: the newest write

	newest   map[cache.Store]string // see EndIfRestored
	restored error
	end      context.CancelCauseFunc
}

type write struct {
	kind            string
	resourceVersion string
	at              time.Time
}

// New returns a Store without writes.
func New() *Store {
	return &Store{writes: map[cache.ObjectName]map[cache.Store]write{}, newest: map[cache.Store]string{}}
}

// WroteAt records a write to an object of this kind that belongs in the store. The resourceVersion is the one in the server's
// answer.
func (s *Store) WroteAt(owner cache.ObjectName, kind string, store cache.Store, resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes[owner] == nil {
		s.writes[owner] = map[cache.Store]write{}
	}
	s.writes[owner][store] = write{kind, resourceVersion, time.Now()}
}

// EnsureReady returns nil if the stores are at least as new as all writes for an owner. If not, the error is an [ErrStale],
// and after some time an [ErrWatchStalled]. The text of that one is the same each time: it can stand in a status.
func (s *Store) EnsureReady(owner cache.ObjectName) (err error) {
	if err := s.Restored(); err != nil {
		s.end(err)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var stalled []string
	for store, wrote := range s.writes[owner] {
		read := store.LastStoreSyncResourceVersion()
		order, compareErr := resourceversion.CompareResourceVersion(read, wrote.resourceVersion)
		switch {
		case compareErr != nil || order >= 0: // an error: the store has no version to compare, see LogIfDisabled
		case time.Since(wrote.at) > StalledAfter:
			stalled = append(stalled, wrote.kind)
		default:
			err = fmt.Errorf("the store of %ss is at resourceVersion %s, and our write at %s: %w",
				wrote.kind, read, wrote.resourceVersion, ErrStale)
		}
	}
	if len(stalled) > 0 {
		slices.Sort(stalled)
		return fmt.Errorf("the controller has not received its own last write to a %s from the API server for more than %s: %w",
			strings.Join(stalled, " and a "), StalledAfter, ErrWatchStalled)
	}
	if err == nil {
		delete(s.writes, owner)
	}
	return err
}

// Len returns the number of owners with writes that no EnsureReady has found in the stores yet.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writes)
}

// Clear forgets the writes for an owner that is gone.
func (s *Store) Clear(owner cache.ObjectName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writes, owner)
}

// LogIfDisabled logs a line if EnsureReady has nothing to compare with: a store has a resourceVersion only with the feature
// gate AtomicFIFO. Without the check, a controller still converges, but it can write the same twice.
func LogIfDisabled(logger klog.Logger) {
	if !features.FeatureGates().Enabled(features.AtomicFIFO) {
		logger.Info("The feature gate AtomicFIFO is off: nothing checks whether the stores have the controller's own writes")
	}
}
