package main

import (
	"io"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestCreationThatIsCollectedBacksOff has a controller see a DatabaseManager that is gone, and no children. It creates them, the
// garbage collector deletes them, which is an event: it must not go on like that.
func TestCreationThatIsCollectedBacksOff(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	d := e.createWithAll("db")
	e.delete("db")
	untilGone(e, "the DatabaseManager", e.databases.Get, "db")
	gate := netfault.NewGate("databasemanagers")
	gate.CloseAt(d.ResourceVersion)
	config, writes := testkit.Writes(gate.Wrap(e.config))
	c, _ := startController(t, kubernetes.NewForConfigOrDie(config), versioned.NewForConfigOrDie(config), e.namespace, 5, io.Discard)
	created := 0
	testkit.Await(t, "five syncs that had to wait, or many creations", func() bool {
		for _, write := range writes() {
			if write == "PATCH secrets/db-root" {
				created++
			}
		}
		return c.queue.NumStale(cache.NewObjectName(e.namespace, "db")) >= 5 || created > 10
	})
	if created > 2 {
		t.Errorf("the Secret was created %d times", created)
	}
	e.garbageCollected(d)
	testkit.Await(t, "the end of the children", func() bool { return len(e.childrenOf("db")) == 0 })
}
