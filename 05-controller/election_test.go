package main

import (
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/client-go-workbook/internal/testcluster"
)

// lease returns the Lease, which must be there.
func (w world) lease() *coordinationv1.Lease {
	w.Helper()
	return must(w.client.CoordinationV1().Leases(w.namespace).Get(w.Context(), leaseName, metav1.GetOptions{}))(w.T)
}

func elect(lease time.Duration) func(*settings) {
	return func(s *settings) { s.leaderElect, s.leaseDuration = true, lease }
}

func TestOneOfTwoWorks(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	first := start(t, config, w.namespace, elect(15*time.Second))
	first.out.await(t, "LEADER", "this process")
	second := start(t, config, w.namespace, elect(15*time.Second))
	second.out.await(t, "WAITING")
	w.ask("orders", "deploymentName", "orders-db")
	w.awaitDeployments("orders-db=1")

	leader := *w.lease().Spec.HolderIdentity
	stopped := time.Now()
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	if holder := *w.lease().Spec.HolderIdentity; holder == leader {
		t.Errorf("the lease was not given back: its holder is %s", holder)
	}
	second.out.await(t, "LEADER", "this process")
	// The second looks every 2 to 4.4 seconds; without the release, a lease of 15 seconds would come on top.
	if took := time.Since(stopped); took > 10*time.Second {
		t.Errorf("the second waited %s for a lease that was given back", took)
	}
	w.change("orders", "replicas", "2")
	w.awaitDeployments("orders-db=2")
	second.out.await(t, "UPDATED") // which comes after the write
	if first.out.count("CREATED") != 1 || first.out.count("UPDATED") != 0 || second.out.count("CREATED") != 0 || second.out.count("UPDATED") != 1 {
		t.Errorf("not one after the other:\n%q\n%q", first.out.lines(), second.out.lines())
	}
}

// hold returns a function for brokenTransport that lets the first write of a Deployment wait until release is closed,
// or until the request is cut. It tells on began and cut.
func hold(release chan struct{}) (f brokenTransport, began, cut chan struct{}) {
	began, cut = make(chan struct{}), make(chan struct{})
	first := make(chan bool, 1)
	first <- true
	return func(request *http.Request) (*http.Response, error) {
		if !isWrite(request) {
			return nil, nil
		}
		select {
		case <-first:
		default:
			return nil, nil
		}
		close(began)
		select {
		case <-release:
			return nil, nil
		case <-request.Context().Done():
			close(cut)
			return nil, request.Context().Err()
		}
	}, began, cut
}

func TestLeaseIsKeptUntilTheWorkersAreDone(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	release := make(chan struct{})
	slow, began, _ := hold(release)
	w.ask("orders", "deploymentName", "orders-db")
	r := start(t, slow.wrap(config), w.namespace, elect(6*time.Second))
	<-began
	before := w.lease().Spec
	ended := make(chan error)
	go func() { ended <- r.stop() }()
	r.out.await(t, "DRAIN 1 in work")

	// As long as it works, it renews; two times, to be sure that no renewal was on its way when it was stopped.
	for range 2 {
		renewed := w.lease().Spec.RenewTime
		await(t, "a renewal", func() bool { return w.lease().Spec.RenewTime.After(renewed.Time) })
	}
	if holder := w.lease().Spec.HolderIdentity; *holder != *before.HolderIdentity {
		t.Errorf("the lease has changed hands: from %s to %s", *before.HolderIdentity, *holder)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.awaitDeployments("orders-db=1")
	if holder := w.lease().Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("the lease was not given back: its holder is %s", *holder)
	}
}

func TestLostLeaseCutsTheWork(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	slow, began, cut := hold(nil)
	w.ask("orders", "deploymentName", "orders-db")
	r := start(t, slow.wrap(config), w.namespace, elect(3*time.Second))
	<-began
	// Somebody takes the lease by force.
	patch := fmt.Sprintf(`{"spec":{"holderIdentity":"somebody","leaseDurationSeconds":3600,"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
	must(w.client.CoordinationV1().Leases(w.namespace).Patch(t.Context(), leaseName, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
	<-cut
	r.out.await(t, "DRAINED")
	if err := r.wait(); err != errLostLease {
		t.Errorf("it ends with %v, want %v", err, errLostLease)
	}
	if holder := w.lease().Spec.HolderIdentity; *holder != "somebody" {
		t.Errorf("the lease of somebody else was given to %q", *holder)
	}
	if w.deployment("orders-db") != nil {
		t.Error("it has written without the lease")
	}
}

func TestDrainFinishesWhatIsInWorkAndQueued(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	release := make(chan struct{})
	slow, began, _ := hold(release)
	for i := range 5 {
		w.ask(fmt.Sprintf("c%d", i), "deploymentName", fmt.Sprintf("d%d", i))
	}
	r := start(t, slow.wrap(config), w.namespace, func(s *settings) { s.workers = 1 })
	<-began
	ended := make(chan error)
	go func() { ended <- r.stop() }()
	r.out.await(t, "DRAIN 1 in work, 4 queued")
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.awaitDeployments("d0=1", "d1=1", "d2=1", "d3=1", "d4=1")
	r.out.await(t, "DRAINED all workers are done, after 5 sync(s) and 5 write(s)")
}

func TestDrainThatTakesTooLongIsCut(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	slow, began, cut := hold(nil)
	w.ask("orders", "deploymentName", "orders-db")
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	url := "http://" + listener.Addr().String()
	r := start(t, slow.wrap(config), w.namespace, func(s *settings) {
		s.workers, s.drainFor, s.listener = 1, 100*time.Millisecond, listener
	})
	<-began
	w.ask("queued", "deploymentName", "queued-db")
	await(t, "both to be known", func() bool { return metric(t, url, "workqueue_depth") == 1 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	<-cut
	r.out.await(t, "LEFT", w.namespace+"/queued", "was queued")
	r.out.await(t, "LEFT", w.namespace+"/orders", "is due for attempt 2")
	w.awaitDeployments()
}
