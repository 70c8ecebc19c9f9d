package main

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// stopWhileAWorkerWrites runs client-go's elector alone, with a worker that needs some more time when it is stopped.
func stopWhileAWorkerWrites(releaseOnCancel bool) {
	ctx, sigterm := context.WithCancel(context.Background())
	begun, given, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	clientset := fake.NewClientset()
	clientset.PrependReactor("update", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		lease := action.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease)
		if *lease.Spec.HolderIdentity == "" {
			fmt.Println("the Lease is released")
		}
		return false, nil, nil
	})
	go func() {
		<-begun
		fmt.Println("SIGTERM")
		sigterm()
	}()
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "databases", Name: "example"},
			Client:     clientset.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "first"},
		},
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		ReleaseOnCancel: releaseOnCancel,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				fmt.Println("a worker begins a write")
				close(begun)
				<-given
				fmt.Println("the write ends")
				close(ended)
			},
			OnStoppedLeading: func() {},
		},
	})
	fmt.Println("nobody renews the Lease any more")
	close(given)
	<-ended
}

func Example_releaseOnCancel() {
	stopWhileAWorkerWrites(true)
	// Output:
	// a worker begins a write
	// SIGTERM
	// the Lease is released
	// nobody renews the Lease any more
	// the write ends
}

func Example_withoutReleaseOnCancel() {
	stopWhileAWorkerWrites(false)
	// Output:
	// a worker begins a write
	// SIGTERM
	// nobody renews the Lease any more
	// the write ends
}
