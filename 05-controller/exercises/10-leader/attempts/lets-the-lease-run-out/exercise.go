// A wrong answer: it waits for the work, but renews no more.

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
	var group sync.WaitGroup
	group.Add(1)
	var once sync.Once
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: 15 * time.Second,
		RenewDeadline: 10 * time.Second,
		RetryPeriod:   2 * time.Second,

		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				defer once.Do(group.Done)
				work(ctx)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	elector.Run(ctx)
	if !elector.IsLeader() {
		once.Do(group.Done) // it never led
	}
	group.Wait()
	if ctx.Err() == nil {
		return errors.New("the Lease is lost")
	}
	return nil
}
