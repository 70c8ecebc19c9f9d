package exercise

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// HoldsTheLockBack has a lock that keeps a release back while the work runs.
func HoldsTheLockBack(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error {
	elected := make(chan context.Context)
	held := &heldLock{Interface: lock}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            held,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				select {
				case elected <- leading:
				case <-leading.Done(): // nobody receives it: ctx has ended
				}
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		elector.Run(electing)
	}()
	var leading context.Context
	select {
	case <-ctx.Done():
	case leading = <-elected:
		held.working.Store(true)
		working, cancel := context.WithCancel(ctx) // ends with ctx, and when the Lease is lost
		stop := context.AfterFunc(leading, cancel)
		work(working)
		stop()
		cancel()
		held.working.Store(false)
		if leading.Err() != nil {
			err = errors.New("the Lease is lost")
		}
	}
	stopElecting() // now the elector releases the Lease
	<-stopped
	return err
}

// heldLock is a lock that is not released while the work runs.
type heldLock struct {
	resourcelock.Interface
	working atomic.Bool
}

func (l *heldLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && l.working.Load() {
		return errors.New("not released: the work still runs")
	}
	return l.Interface.Update(ctx, record)
}
