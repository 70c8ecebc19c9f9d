// Package election lets one of several processes lead, by a Lease, and keeps the others from writing.
//
// It puts two things around client-go's leader election. The Lease is released when the leader's workers are done, not
// before: client-go's ReleaseOnCancel lets the next process begin while they still write. And a fence in the transport
// stops the writes of a process that has lost the Lease and has not noticed yet.
//
// The contexts of [Elector.Run], and when each of them ends:
//
//	context     ends                               and with it
//	ctx         at SIGTERM                         the wait for the Lease
//	leaderCtx   at SIGTERM, or with the Lease      the workers begin to drain
//	leaseCtx    with the Lease                     the workers' requests are cancelled
//	renewCtx    when the workers are done          the Lease is no longer renewed, and then released
package election

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// ErrLost is the error of [Elector.Run] when another process might lead now.
var ErrLost = errors.New("the lease could not be renewed in time: another process may lead now")

// Options is what the flags say.
type Options struct {
	Enabled       bool
	Namespace     string        // of the Lease; empty: see New
	LeaseDuration time.Duration // for so long nobody leads after a leader has died; whole seconds
}

// AddFlags adds --leader-elect, --lease-namespace and --lease-duration.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.LeaseDuration = 15 * time.Second
	flags.BoolVar(&o.Enabled, "leader-elect", false,
		"write only while no other process does, by a Lease")
	flags.StringVar(&o.Namespace, "lease-namespace", "", "namespace of the Lease (default: the watched one, or else default)")
	flags.Func("lease-duration",
		"how long others wait for a leader that has died, in whole seconds (default 15s)", wholeSeconds(&o.LeaseDuration))
}

// RenewDeadline is how long a leader tries to renew its Lease before it gives up: less than others wait.
func (o *Options) RenewDeadline() time.Duration { return o.LeaseDuration * 2 / 3 }

// RetryPeriod is how often a process looks at the Lease. The others read it every 1 to 2.2 periods: when they see the last renewal,
// and again when it has run out. So after a leader has died, nobody leads for LeaseDuration and 4.4 periods at most.
func (o *Options) RetryPeriod() time.Duration { return o.LeaseDuration / 15 }

// wholeSeconds is for a flag's Func. A Lease has whole seconds: with 1.9 s, the others would wait for 1 s only.
func wholeSeconds(duration *time.Duration) func(string) error {
	return func(value string) (err error) {
		*duration, err = time.ParseDuration(value)
		if err != nil || *duration < time.Second || *duration > time.Hour || *duration%time.Second != 0 {
			return errors.New("it takes whole seconds, from 1s to 1h")
		}
		return nil
	}
}

// Elector is one process's part in an election.
type Elector struct {
	options  Options
	config   *rest.Config
	lease    cache.ObjectName
	fence    fence
	watchdog *leaderelection.HealthzAdaptor
	leader   atomic.Value // a string: see Leader
	out      Printer
}

// Printer prints a line: a word such as LEADER, and a text.
type Printer interface {
	Line(word, format string, args ...any)
}

// New returns an elector for the Lease of that name. Its namespace is options.Namespace, else lease.Namespace,
// else "default". If the election is not enabled, this process always leads.
func New(config *rest.Config, lease cache.ObjectName, options Options, out Printer) *Elector {
	lease.Namespace = cmp.Or(options.Namespace, lease.Namespace, metav1.NamespaceDefault)
	return &Elector{
		options:  options,
		config:   config,
		lease:    lease,
		watchdog: leaderelection.NewLeaderHealthzAdaptor(options.LeaseDuration),
		out:      out,
	}
}

// Config returns the configuration of all clients that write: their writes fail while this process does not lead.
func (e *Elector) Config() *rest.Config {
	if !e.options.Enabled {
		return e.config
	}
	config := rest.CopyConfig(e.config)
	config.Wrap(e.fence.wrap)
	return config
}

// Healthz is a check for /healthz. It returns an error if this process still holds a Lease that ran out a LeaseDuration ago.
func (e *Elector) Healthz(request *http.Request) error { return e.watchdog.Check(request) }

// Leader returns who leads as far as this process knows: "this process", the identity of another one, or nothing.
func (e *Elector) Leader() string {
	leader, _ := e.leader.Load().(string)
	return leader
}

// Lock returns the lock for an elector of another library, in the place of Run: with it, and with the configuration that Config
// returns, that library has the fence, too. lost is called once, when the fence closes, and must not block.
func (e *Elector) Lock(lost func()) (resourcelock.Interface, error) {
	lock, err := e.newLock()
	if err != nil {
		return nil, err
	}
	return e.fence.lock(lock, e.options.RenewDeadline(), lost), nil
}

// newLock returns the lock without the fence, with an identity of its own.
func (e *Elector) newLock() (*resourcelock.LeaseLock, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	clientset, err := kubernetes.NewForConfig(e.config) // without the fence: it is what opens the fence
	if err != nil {
		return nil, err
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.lease.Namespace, Name: e.lease.Name},
		Client:     clientset.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}
	return lock, nil
}

// Run waits until this process leads, calls lead, and releases the Lease when lead has returned. lead has to return soon
// after leaderCtx ends, and must make no request after leaseCtx ends. Run returns [ErrLost] if the Lease was lost.
func (e *Elector) Run(ctx context.Context, lead func(leaderCtx, leaseCtx context.Context)) error {
	if !e.options.Enabled {
		lead(ctx, context.WithoutCancel(ctx))
		return nil
	}
	lock, err := e.newLock()
	if err != nil {
		return err
	}
	leaseCtx, cancelLease := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelLease()
	leaderCtx, cancelLeader := context.WithCancel(ctx)
	defer cancelLeader()
	lost := func() {
		cancelLease()
		e.leader.Store("")
		cancelLeader()
	}
	elected := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          e.fence.lock(lock, e.options.RenewDeadline(), lost),
		Name:          e.lease.Name,
		LeaseDuration: e.options.LeaseDuration,
		RenewDeadline: e.options.RenewDeadline(),
		RetryPeriod:   e.options.RetryPeriod(),
		WatchDog:      e.watchdog,
		// Without ReleaseOnCancel: it also releases a lease that could not be renewed, while lead still runs.
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(elected) },
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				if leaseCtx.Err() != nil {
					return // it is called in a goroutine of its own: the Lease is lost meanwhile
				}
				if identity == lock.Identity() {
					e.leader.Store("this process")
					e.out.Line("LEADER", "this process")
				} else {
					e.leader.Store(identity)
					e.out.Line("WAITING", "while %s leads", identity)
				}
			},
		},
	})
	if err != nil {
		return err
	}
	e.watchdog.SetLeaderElection(elector)

	renewCtx, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRenewing()
	var group sync.WaitGroup
	group.Go(func() {
		elector.Run(renewCtx)
		lost()
	})

	select {
	case <-elected:
		lead(leaderCtx, leaseCtx)
	case <-ctx.Done():
	}
	isLost := leaseCtx.Err() != nil
	stopRenewing()
	group.Wait()
	if isLost {
		return ErrLost
	}
	if err := release(context.WithoutCancel(ctx), lock); err != nil {
		klog.FromContext(ctx).Info("The lease could not be released: the next leader waits until it has run out", "err", err)
	}
	return nil
}

// release gives the Lease up, if this process holds it, so that the next one need not wait until it has run out.
func release(ctx context.Context, lock *resourcelock.LeaseLock) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err != nil || record.HolderIdentity != lock.Identity() {
		return err
	}
	record.HolderIdentity = ""
	return lock.Update(ctx, *record)
}
