// Package fence keeps a process that may no longer lead from writing.
//
// client-go's leader election runs beside the work. A process that was paused (SIGSTOP, a suspended machine) goes on with
// its work where it was, and the elector notices up to RenewDeadline later that another process leads. So a [Fence] asks
// before each write. [Fence.Config] puts it into the transport of the clients that write, [Fence.Lock] watches the lease.
package fence

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrClosed is the error of a write that the fence has stopped.
var ErrClosed = errors.New("nothing is written: this process may no longer lead")

// Fence lets writes through while this process is sure to lead. Once it does not, it never does again.
type Fence struct {
	mu      sync.Mutex
	window  time.Duration
	renewed time.Time // when the last renewal that succeeded was sent; zero before the first
	closed  bool
	lost    func()
}

// LeaseDuration is for a flag's Func. A Lease has whole seconds: with 1.9 s, the others would wait for 1 s only.
func LeaseDuration(duration *time.Duration) func(string) error {
	return func(value string) (err error) {
		*duration, err = time.ParseDuration(value)
		if err != nil || *duration < time.Second || *duration > time.Hour || *duration%time.Second != 0 {
			return errors.New("it takes whole seconds, from 1s to 1h")
		}
		return nil
	}
}

// Config returns a copy of config for clients whose writes have to pass the fence: all but the one that renews the lease.
func (f *Fence) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(f.wrap)
	return config
}

func (f *Fence) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet && !f.open() {
			if request.Body != nil {
				request.Body.Close() // a RoundTripper has to
			}
			return nil, ErrClosed
		}
		return next.RoundTrip(request)
	})
}

// Lock returns a lock for the elector. The fence is open from the first renewal on, as long as none is older than window,
// which is shorter than the lease: what remains is for requests that are on their way. lost is called once, when the
// fence is closed because of that, or because somebody else holds the lock. It must not block.
func (f *Fence) Lock(inner resourcelock.Interface, window time.Duration, lost func()) resourcelock.Interface {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.window, f.lost = window, lost
	return &lock{inner, f}
}

func (f *Fence) open() bool {
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

// close has to be called with the lock held.
func (f *Fence) close() {
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

// lock notices renewals, and other holders.
type lock struct {
	resourcelock.Interface
	fence *Fence
}

func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := finish(ctx)
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

func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(ctx, record, l.Interface.Create)
}

func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(ctx, record, l.Interface.Update)
}

// renew counts from when a renewal is sent. The others count from when they see it, which may be before its answer is
// here.
func (l *lock) renew(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	ctx, cancel := finish(ctx)
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

// finish returns a context that ends a second after ctx. A request that is on its way when the elector is stopped comes
// to its end: the elector would log a cut one as an error.
func finish(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, cancel) })
	return late, func() { stop(); cancel() }
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
