package main

import (
	"testing"

	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestCreationThatIsCollectedBacksOff has a controller see a DatabaseManager that is gone, and no children. It creates them once, and the
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
	var output testkit.Buffer
	c, _ := startController(t, kubernetes.NewForConfigOrDie(config), versioned.NewForConfigOrDie(config), e.namespace, 5, &output)
	created := 0
	secrets := func() int {
		for _, write := range writes() {
			if write == "PATCH secrets/db-root" {
				created++
			}
		}
		return created
	}
	testkit.Await(t, "the children", func() bool { return len(output.Lines("CREATED")) >= 3 })
	testkit.Await(t, "their end", func() bool { return len(e.childrenOf("db")) == 0 })
	ended := c.syncs.Load()
	testkit.Await(t, "a sync that began after it, and the one under way", func() bool { return c.syncs.Load() >= ended+2 })
	if secrets() != 1 {
		t.Errorf("the Secret was created %d times", created)
	}
}
