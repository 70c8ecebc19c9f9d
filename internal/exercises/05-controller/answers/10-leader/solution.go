// Package exercise answers "Fail over without two leaders". README.md has the task.
package exercise

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lead waits until this process holds the lock, and then calls work, once. It returns nil when ctx has ended, and an error
// when the lock was lost.
func Lead(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error {
	elected := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: 15 * time.Second,
		RenewDeadline: 10 * time.Second,
		RetryPeriod:   2 * time.Second,
		// Without ReleaseOnCancel: it also releases a Lease that could not be renewed, while the work still runs.
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { elected <- leading },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	// The election has a context of its own, which ends after the work: until then the Lease is renewed.
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { elector.Run(electing) })
	lost := false
	select {
	case leading := <-elected:
		working, cancel := context.WithCancel(leading) // ends when the Lease is lost
		defer cancel()
		defer context.AfterFunc(ctx, cancel)() // and when ctx ends
		work(working)
		lost = leading.Err() != nil
	case <-ctx.Done():
	}
	stopElecting()
	group.Wait()
	if lost {
		return errors.New("the Lease could not be renewed in time")
	}
	// Also if work was never called: the Lease may have been acquired just now. If this fails, the Lease runs out.
	release(lock)
	return nil
}

// release gives the Lease up, if this process holds it, so that the next one need not wait until it has run out.
func release(lock resourcelock.Interface) {
	// With a context that has ended nothing would be sent, and without a limit a server that does not answer would hold us up.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	record, _, err := lock.Get(ctx)
	if err != nil || record.HolderIdentity != lock.Identity() {
		return
	}
	record.HolderIdentity = ""
	_ = lock.Update(ctx, *record)
}
