package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/transcript"
)

func TestReadme(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "README.md",
		`for name in $(scripts/kubectl get dbm -n default -o name); do
			scripts/kubectl patch "$name" -n default --type=merge -p '{"metadata":{"finalizers":null}}'
			scripts/kubectl delete "$name" -n default
		done`,
		"scripts/kubectl delete deployment/mysql service/mysql secret/mysql-root -n default --ignore-not-found")
}

func TestReadmeOfTheTwin(t *testing.T) {
	t.Parallel()
	transcript.Test(t, "controller-runtime/README.md")
}

// TestKindReadmeOfDeploy has a cluster of its own: what is deployed acts on all DatabaseManagers of a cluster.
func TestKindReadmeOfDeploy(t *testing.T) {
	testcluster.RequireKind(t)
	t.Setenv("CLUSTER_DIR", filepath.Join(t.TempDir(), "cluster"))
	t.Cleanup(func() { _ = exec.Command("../scripts/cluster-down.sh").Run() })
	up := exec.Command("bash", "-c", "../scripts/cluster-up.sh && . ../scripts/lib.sh && load_pod_images")
	if output, err := up.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	transcript.Test(t, "deploy/README.md")
}
