package main

import (
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/features"
	clientfeatures "k8s.io/client-go/features/testing"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/testcluster"
)

// TestRights runs the controller as a user who has the permissions of rbac.yaml and no others.
func TestRights(t *testing.T) {
	config := testcluster.Config(t)
	w := newWorld(t, config)
	config, check := testcluster.AsRole(t, config, w.namespace, "rbac.yaml")
	r := start(t, config, w.namespace, elect(15*time.Second))
	w.ask("orders", "deploymentName", "orders-db")
	w.awaitDeployments("orders-db=1")
	w.change("orders", "replicas", "2")
	w.awaitDeployments("orders-db=2")
	w.change("orders", "deploymentName", "new-db")
	w.awaitDeployments("new-db=2")
	for i := range 2 { // the second event is an update of the first
		w.change("orders", "replicas", "many")
		await(t, "the problem is told", func() bool { return r.out.count("STUCK") == i+1 })
		w.change("orders", "replicas", "0")
		w.awaitDeployments("new-db=0")
	}
	await(t, "an event that counts two", func() bool {
		told := w.events("orders")
		return len(told) > len(slices.Compact(slices.Sorted(slices.Values(told))))
	})
	renewed := w.lease().Spec.RenewTime
	await(t, "a renewal", func() bool { return w.lease().Spec.RenewTime.After(renewed.Time) })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	// The permission list is for servers without streaming lists.
	clientfeatures.SetFeatureDuringTest(t, features.WatchListClient, false)
	listing := start(t, config, w.namespace, nil)
	w.change("orders", "replicas", "1")
	w.awaitDeployments("new-db=1")
	if err := listing.stop(); err != nil {
		t.Fatal(err)
	}
	check()
}

// TestWithoutRights shows that the controller ends, where client-go would go on asking.
func TestWithoutRights(t *testing.T) {
	config := testcluster.Config(t)
	s := settings{namespace: testcluster.Namespace(t, config), workers: 2, leaseDuration: 15 * time.Second}
	if err := run(t.Context(), testcluster.AsUser(config, "nobody"), s, program.NewPrinter(&output{})); !apierrors.IsForbidden(err) {
		t.Errorf("run: %v, want Forbidden", err)
	}
}
