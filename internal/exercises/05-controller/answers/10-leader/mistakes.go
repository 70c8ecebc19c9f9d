package exercise

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// newElector has the times of all these answers.
func newElector(
	lock resourcelock.Interface, release bool, callbacks leaderelection.LeaderCallbacks,
) (*leaderelection.LeaderElector, error) {
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		ReleaseOnCancel: release,
		Callbacks:       callbacks,
	})
}

// Exits calls os.Exit, which skips all that is still to be done.
func Exits(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error {
	elector, err := newElector(lock, true, leaderelection.LeaderCallbacks{
		OnStartedLeading: work,
		OnStoppedLeading: func() { os.Exit(0) },
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	return nil
}

// ReleasesWhatAnotherHolds asks who holds the Lease when ctx has ended, but not when it has lost the Lease.
func ReleasesWhatAnotherHolds(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error {
	err := Lead(ctx, lock, work)
	if err != nil {
		releaseWhoeverHolds(lock)
	}
	return err
}

// ReleasesWhatHasRunOut does not ask who holds the Lease when ctx has ended: it may have run out while the work ended.
func ReleasesWhatHasRunOut(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error {
	worked := false
	err := leadWithoutRelease(ctx, lock, func(ctx context.Context) { worked = true; work(ctx) })
	if ctx.Err() == nil {
		return err
	}
	if worked {
		releaseWhoeverHolds(lock)
	} else {
		release(lock)
	}
	return nil
}

// releaseWhoeverHolds is release without the question who holds the Lease.
func releaseWhoeverHolds(lock resourcelock.Interface) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if record, _, err := lock.Get(ctx); err == nil {
		record.HolderIdentity = ""
		_ = lock.Update(ctx, *record)
	}
}

// leadWithoutRelease is Lead without its release.
func leadWithoutRelease(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error {
	elected := make(chan context.Context, 1)
	elector, err := newElector(lock, false, leaderelection.LeaderCallbacks{
		OnStartedLeading: func(leading context.Context) { elected <- leading },
		OnStoppedLeading: func() {},
	})
	if err != nil {
		return err
	}
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { elector.Run(electing) })
	lost := false
	select {
	case leading := <-elected:
		working, cancel := context.WithCancel(leading)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		work(working)
		lost = leading.Err() != nil
	case <-ctx.Done():
	}
	stopElecting()
	group.Wait()
	if lost {
		return errors.New("the Lease is lost")
	}
	return nil
}

// WaitsIfItIsTheLeader takes IsLeader for: the work was begun. If another process has taken the Lease, it is false, and the work
// still runs.
func WaitsIfItIsTheLeader(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error {
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopElecting()
	started, done := make(chan struct{}), make(chan struct{})
	elector, err := newElector(lock, false, leaderelection.LeaderCallbacks{
		OnStartedLeading: func(leading context.Context) {
			defer close(done)
			close(started)
			working, cancel := context.WithCancel(leading)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			work(working)
		},
		OnStoppedLeading: func() {},
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		select {
		case <-started:
			<-done
		default:
		}
		stopElecting()
	})()
	elector.Run(electing)
	if elector.IsLeader() {
		<-done
	}
	if ctx.Err() == nil {
		return errors.New("the Lease is lost")
	}
	release(lock)
	return nil
}

// ForgetsALateStart forgets that the elector starts OnStartedLeading in a goroutine, which may begin when Run has returned.
func ForgetsALateStart(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error {
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopElecting()
	var began, lost atomic.Bool
	done := make(chan struct{})
	elector, err := newElector(lock, false, leaderelection.LeaderCallbacks{
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
	release(lock)
	return nil
}
