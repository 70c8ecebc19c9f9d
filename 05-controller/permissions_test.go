package main

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/features"
	clientfeatures "k8s.io/client-go/features/testing"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestPermissions runs the controller as a ServiceAccount with the permissions of rbac.yaml, and no others. The API server's
// audit log says which of them it used.
func TestPermissions(t *testing.T) {
	config := testcluster.Config(t)
	e := newEnv(t, config)
	rules := testkit.Must(testcluster.Rules("rbac.yaml"))(t)
	config = testcluster.AsServiceAccount(t, config, e.namespace, fieldManager, rules)
	r := start(t, config, e.namespace, elect(15*time.Second))
	e.createConfigMap("orders", "deploymentName", "orders-db")
	e.awaitDeployments("orders-db=1")
	e.setData("orders", "replicas", "2")
	e.awaitDeployments("orders-db=2")
	e.setData("orders", "deploymentName", "new-db")
	e.awaitDeployments("new-db=2")
	for i := range 2 { // the second event is an update of the first
		e.setData("orders", "replicas", "many")
		testkit.Await(t, "the problem", func() bool { return len(r.out.Lines("STUCK")) == i+1 })
		e.setData("orders", "replicas", "0")
		e.awaitDeployments("new-db=0")
	}
	testkit.Await(t, "an event that counts two", func() bool {
		events := e.events("orders")
		return len(events) > len(slices.Compact(slices.Sorted(slices.Values(events))))
	})
	renewed := e.lease().Spec.RenewTime
	testkit.Await(t, "a renewal", func() bool { return e.lease().Spec.RenewTime.After(renewed.Time) })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	// The permission list is for servers without streaming lists.
	clientfeatures.SetFeatureDuringTest(t, features.WatchListClient, false)
	listing := start(t, config, e.namespace, nil)
	e.setData("orders", "replicas", "1")
	e.awaitDeployments("new-db=1")
	if err := listing.stop(); err != nil {
		t.Fatal(err)
	}
	usage, err := testcluster.Audit(fieldManager, e.namespace)
	if errors.Is(err, testcluster.ErrOtherCluster) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if missing, unused := usage.Compare(rules); len(missing)+len(unused) > 0 {
		t.Errorf("permissions that rbac.yaml lacks: %q; that were not used: %q", missing, unused)
	}
}

// TestWithoutPermissions shows that the controller ends, where an informer alone would retry without end.
func TestWithoutPermissions(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	o := options{namespace: testcluster.Namespace(t, config), workers: 2}
	if err := run(t.Context(), testcluster.AsUser(config, "nobody"), o, program.NewPrinter(io.Discard)); !apierrors.IsForbidden(err) {
		t.Errorf("run: %v, want Forbidden", err)
	}
}
