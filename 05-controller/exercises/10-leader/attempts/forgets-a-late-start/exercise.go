// A mistake: the elector starts OnStartedLeading in a goroutine, which may begin when Run has returned.

package exercise

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lead waits for work only if it has begun when the election ends.
func Lead(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error {
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopElecting()
	var began, lost atomic.Bool
	done := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		ReleaseOnCancel: false,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				time.Sleep(time.Millisecond) // as if the scheduler let others run first
				began.Store(true)
				defer close(done)
				working, cancel := context.WithCancel(leading)
				defer cancel()
				defer context.AfterFunc(ctx, cancel)()
				work(working)
				lost.Store(leading.Err() != nil)
				stopElecting()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	group.Go(func() { elector.Run(electing) })
	<-ctx.Done()
	if !began.Load() {
		stopElecting()
		group.Wait()
		return nil
	}
	<-done
	group.Wait()
	if lost.Load() {
		return errors.New("the Lease could not be renewed in time")
	}
	record, _, err := lock.Get(context.WithoutCancel(ctx))
	if err != nil || record.HolderIdentity != lock.Identity() {
		return err
	}
	record.HolderIdentity = ""
	return lock.Update(context.WithoutCancel(ctx), *record)
}
