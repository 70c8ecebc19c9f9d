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

	"example.com/client-go-workbook/internal/controller/election"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// lease returns the Lease, which must be there.
func (e env) lease() *coordinationv1.Lease {
	e.Helper()
	return testkit.Must(e.client.CoordinationV1().Leases(e.namespace).Get(e.Context(), leaseName, metav1.GetOptions{}))(e.T)
}

func elect(lease time.Duration) func(*options) {
	return func(o *options) { o.election = election.Options{Enabled: true, LeaseDuration: lease} }
}

func TestOneOfTwoLeads(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	first := start(t, config, e.namespace, elect(15*time.Second))
	awaitLine(t, first.out, "LEADER", "this process")
	second := start(t, config, e.namespace, elect(15*time.Second))
	awaitLine(t, second.out, "WAITING")
	e.createConfigMap("orders", "deploymentName", "orders-db")
	e.awaitDeployments("orders-db=1")

	leader := *e.lease().Spec.HolderIdentity
	stopped := time.Now()
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	if holder := *e.lease().Spec.HolderIdentity; holder == leader {
		t.Errorf("the lease was not released: its holder is %s", holder)
	}
	awaitLine(t, second.out, "LEADER", "this process")
	// The second tries every 2 to 4.4 seconds; without the release, a lease of 15 seconds would come on top.
	if took := time.Since(stopped); took > 12*time.Second {
		t.Errorf("the second waited %s for a lease that was released", took)
	}
	e.setData("orders", "replicas", "2")
	e.awaitDeployments("orders-db=2")
	awaitLine(t, second.out, "UPDATED") // which comes after the write
	if len(first.out.Lines("CREATED")) != 1 || len(first.out.Lines("UPDATED")) != 0 ||
		len(second.out.Lines("CREATED")) != 0 || len(second.out.Lines("UPDATED")) != 1 {
		t.Errorf("not one after the other:\n%q\n%q", first.out.Lines(), second.out.Lines())
	}
}

// hold returns an interceptor that lets the first write of a Deployment wait until release is closed, or until the request
// is cancelled. It closes began and cancelled when that happens.
func hold(release chan struct{}) (f interceptor, began, cancelled chan struct{}) {
	began, cancelled = make(chan struct{}), make(chan struct{})
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
			close(cancelled)
			return nil, request.Context().Err()
		}
	}, began, cancelled
}

func TestLeaseIsHeldUntilTheWorkersAreDone(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	release := make(chan struct{})
	slow, began, _ := hold(release)
	e.createConfigMap("orders", "deploymentName", "orders-db")
	r := start(t, slow.wrap(config), e.namespace, elect(9*time.Second))
	<-began
	before := e.lease().Spec
	ended := make(chan error)
	go func() { ended <- r.stop() }()
	awaitLine(t, r.out, "DRAIN ", "1 processing")

	// As long as its workers sync, it renews; two times, to be sure that no renewal was on its way when it was stopped.
	for range 2 {
		renewed := e.lease().Spec.RenewTime
		testkit.Await(t, "a renewal", func() bool { return e.lease().Spec.RenewTime.After(renewed.Time) })
	}
	if holder := e.lease().Spec.HolderIdentity; *holder != *before.HolderIdentity {
		t.Errorf("the lease has another holder: %s to %s", *before.HolderIdentity, *holder)
	}
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	e.awaitDeployments("orders-db=1")
	if holder := e.lease().Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("the lease was not released: its holder is %s", *holder)
	}
}

func TestLostLeaseCancelsRequests(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	slow, began, cancelled := hold(nil)
	e.createConfigMap("orders", "deploymentName", "orders-db")
	r := start(t, slow.wrap(config), e.namespace, elect(9*time.Second))
	<-began
	// Somebody takes the lease by force.
	patch := fmt.Sprintf(`{"spec":{"holderIdentity":"somebody","leaseDurationSeconds":3600,"renewTime":%q}}`,
		time.Now().UTC().Format(metav1.RFC3339Micro))
	testkit.Must(e.client.CoordinationV1().Leases(e.namespace).Patch(t.Context(),
		leaseName, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
	<-cancelled
	awaitLine(t, r.out, "DRAINED")
	if err := r.wait(); err != election.ErrLost {
		t.Errorf("it ends with %v, want %v", err, election.ErrLost)
	}
	if holder := e.lease().Spec.HolderIdentity; *holder != "somebody" {
		t.Errorf("the lease of somebody else was given to %q", *holder)
	}
	if e.deployment("orders-db") != nil {
		t.Error("it has written without the lease")
	}
}

func TestDrainSyncsWhatIsQueued(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	e := newEnv(t, config)
	release := make(chan struct{})
	slow, began, _ := hold(release)
	for i := range 5 {
		e.createConfigMap(fmt.Sprintf("c%d", i), "deploymentName", fmt.Sprintf("d%d", i))
	}
	r := start(t, slow.wrap(config), e.namespace, func(o *options) { o.workers = 1 })
	<-began
	ended := make(chan error)
	go func() { ended <- r.stop() }()
	awaitLine(t, r.out, "DRAIN ", "1 processing, 4 queued")
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	e.awaitDeployments("d0=1", "d1=1", "d2=1", "d3=1", "d4=1")
	awaitLine(t, r.out, "DRAINED ", "all workers are done, after 5 sync(s)")
}

func TestDrainThatTakesTooLongIsCancelled(t *testing.T) {
	config := testcluster.Config(t)
	e := newEnv(t, config)
	slow, began, cancelled := hold(nil)
	e.createConfigMap("orders", "deploymentName", "orders-db")
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	url := "http://" + listener.Addr().String()
	r := start(t, slow.wrap(config), e.namespace, func(o *options) {
		o.workers, o.drainFor, o.server.Listener = 1, 100*time.Millisecond, listener
	})
	<-began
	e.createConfigMap("queued", "deploymentName", "queued-db")
	testkit.Await(t, "both to be known", func() bool { return metric(t, url, "workqueue_depth") == 1 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	<-cancelled
	awaitLine(t, r.out, "LEFT", e.namespace+"/queued", "was queued")
	awaitLine(t, r.out, "LEFT", e.namespace+"/orders", "is due for a retry")
	e.awaitDeployments()
}
