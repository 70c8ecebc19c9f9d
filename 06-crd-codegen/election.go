package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"example.com/client-go-workbook/internal/fence"
	"example.com/client-go-workbook/internal/program"
)

// leaseName is the name of the Lease that tells which process leads.
const leaseName = "workbook-06-crd-codegen"

var errLostLease = errors.New("the lease could not be renewed in time: another process may lead now")

// election lets one of several processes work, and the others wait.
type election struct {
	config    *rest.Config // without a limit or the fence: a renewal must not wait behind other requests
	namespace string
	duration  time.Duration // how long a lease lasts: a dead leader's work is left for that time
	fence     *fence.Fence  // stops the writes of a process that may no longer lead
	watchdog  *leaderelection.HealthzAdaptor
	out       *program.Printer
}

// run waits until this process leads, calls lead, and gives the lease back when lead has returned, not earlier.
// lead must end soon after ctx does, and at once after leased does: then another process may have begun.
//
//	context    it ends                              and with it
//	ctx        at SIGTERM                           the wait for the lease
//	leading    at SIGTERM, or with the lease        lead begins to drain
//	leased     with the lease                       lead's requests are cut
//	renewing   when lead has returned               the lease is not renewed any more, and given back
func (e election) run(ctx context.Context, lead func(ctx, leased context.Context)) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	clientset, err := kubernetes.NewForConfig(e.config)
	if err != nil {
		return err
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.namespace, Name: leaseName},
		Client:     clientset.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}
	leased, lose := context.WithCancel(context.WithoutCancel(ctx))
	defer lose()
	leading, stopLeading := context.WithCancel(ctx)
	defer stopLeading()
	lost := func() {
		lose()
		stopLeading()
	}
	renewDeadline := e.duration * 2 / 3
	elected := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          e.fence.Lock(lock, renewDeadline, lost),
		Name:          leaseName,
		LeaseDuration: e.duration,
		RenewDeadline: renewDeadline,
		RetryPeriod:   e.duration * 2 / 15,
		WatchDog:      e.watchdog,
		// ReleaseOnCancel is not for us: it also gives a lease back that could not be renewed, while lead still runs.
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(elected) },
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				if identity == lock.Identity() {
					e.out.Line("LEADER", "this process")
				} else {
					e.out.Line("WAITING", "while %s leads", identity)
				}
			},
		},
	})
	if err != nil {
		return err
	}
	e.watchdog.SetLeaderElection(elector)

	// The lease is renewed for as long as lead runs, which is longer than ctx.
	renewing, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRenewing()
	var group sync.WaitGroup
	group.Go(func() {
		elector.Run(renewing)
		lost()
	})

	select {
	case <-elected:
		lead(leading, leased)
	case <-ctx.Done():
	}
	isLost := leased.Err() != nil
	stopRenewing()
	group.Wait()
	if isLost {
		return errLostLease
	}
	if err := release(context.WithoutCancel(ctx), lock); err != nil {
		klog.FromContext(ctx).Info("The lease was not given back, and runs out by itself", "err", err)
	}
	return nil
}

// release gives the lease back, if it is ours, so that the next process need not wait until it has run out.
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
