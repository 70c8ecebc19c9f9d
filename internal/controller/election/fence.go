package election

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var errNotLeading = errors.New("not sent: this process is not the leader")

// fence lets a process write while it is sure to lead. Once the fence has closed, it stays closed.
//
// It is needed because client-go's elector runs beside the workers. A process that was paused (SIGSTOP, a suspended
// machine) continues where it was, and its elector notices up to RenewDeadline later that another process leads. So the
// fence checks before each write.
type fence struct {
	mu      sync.Mutex
	window  time.Duration
	renewed time.Time // when the last renewal that succeeded was sent; zero before the first
	closed  bool
	lost    func()
}

// wrap returns a transport that lets reads through, and writes while the fence is open.
func (f *fence) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet && !f.open() {
			if request.Body != nil {
				request.Body.Close() // a RoundTripper has to
			}
			return nil, errNotLeading
		}
		return next.RoundTrip(request)
	})
}

// lock returns a lock for the elector. The fence is open from the first renewal on, as long as none is older than window,
// which is shorter than the lease: what remains is for requests that are on their way. The fence calls lost once, when it
// closes because of that, or because another process holds the lock. lost must not block.
func (f *fence) lock(inner resourcelock.Interface, window time.Duration, lost func()) resourcelock.Interface {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.window, f.lost = window, lost
	return &fencedLock{inner, f}
}

func (f *fence) open() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.renewed.IsZero() {
		return false // this process has not led yet
	}
	if since(f.renewed) >= f.window {
		f.close()
	}
	return !f.closed
}

// close has to be called with f.mu held.
func (f *fence) close() {
	if !f.closed {
		f.closed = true
		f.lost()
	}
}

// since returns how long ago t was. A monotonic clock stands still while the machine is suspended, and a wall clock can
// be set back: the longer time counts.
func since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// fencedLock reports to the fence when the lease is renewed, and when another process holds it.
type fencedLock struct {
	resourcelock.Interface
	fence *fence
}

func (l *fencedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.fence.mu.Lock()
		defer l.fence.mu.Unlock()
		if !l.fence.renewed.IsZero() {
			l.fence.close()
		}
	}
	return record, raw, err
}

func (l *fencedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(ctx, record, l.Interface.Create)
}

func (l *fencedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(ctx, record, l.Interface.Update)
}

// renew counts from when a renewal is sent. The others count from when they see it, which can be before its answer has
// arrived here.
func (l *fencedLock) renew(
	ctx context.Context,
	record resourcelock.LeaderElectionRecord,
	write func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	ctx, cancel := withGrace(ctx)
	defer cancel()
	sent := time.Now()
	err := write(ctx, record)
	if err == nil {
		l.fence.mu.Lock()
		defer l.fence.mu.Unlock()
		l.fence.renewed = sent
	}
	return err
}

// withGrace returns a context that ends a second after ctx, so that a request on its way can finish when the elector is
// stopped. The elector would log a cancelled one as an error.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, cancel) })
	return late, func() { stop(); cancel() }
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
