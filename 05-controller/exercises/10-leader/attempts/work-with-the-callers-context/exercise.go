// A wrong answer: the work learns nothing of a lost Lease.

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
		Lock:            lock,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) { elected <- leading },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	var group sync.WaitGroup
	group.Go(func() { elector.Run(electing) })
	defer func() {
		stopElecting()
		group.Wait()
	}()
	select {
	case leading := <-elected:
		work(ctx)
		if leading.Err() != nil {
			return errors.New("the Lease is lost")
		}
	case <-ctx.Done():
	}
	return nil
}
