package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/testcluster"
)

func TestKindClusterIsRepaired(t *testing.T) {
	testcluster.RequireKind(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{folder: filepath.Join(base, "my cluster")}
	c.env = []string{"CLUSTER=kind", "CLUSTER_DIR=" + c.folder, "KIND_NODE_IMAGE=" + os.Getenv("KIND_NODE_IMAGE")}
	t.Cleanup(func() { run(t, c.env, "./cluster-down.sh") })
	name := ""
	// docker runs docker, or podman, on the cluster's containers.
	docker := func(arguments string) string {
		return strings.TrimSpace(c.run(t, "bash", "-c", `runtime=docker; docker ps -q >/dev/null 2>&1 || runtime=podman
			containers=$($runtime ps -aq --filter "label=io.x-k8s.kind.cluster=`+name+`")
			`+arguments))
	}

	c.run(t, "./cluster-up.sh")
	marker, err := os.ReadFile(filepath.Join(c.folder, "type"))
	if err != nil {
		t.Fatal(err)
	}
	name = strings.TrimSpace(strings.TrimPrefix(string(marker), "kind "))
	c.mark(t)
	if got := run(t, c.env, "./cluster-up.sh"); got != (result{}) {
		t.Errorf("on a cluster that is up: %+v, want nothing", got)
	}
	if got := c.run(t, "./kubectl", "config", "get-contexts", "-o", "name"); got != "workbook\n" {
		t.Errorf("contexts %q, want workbook", got)
	}

	docker("$runtime stop $containers")
	want := result{"", "The kind cluster does not answer: run make cluster.\n", 1}
	if got := run(t, c.env, "./cluster-status.sh"); got != want {
		t.Errorf("status of a stopped one: %+v, want %+v", got, want)
	}
	if got := c.run(t, "./cluster-up.sh"); !strings.Contains(got, "its objects are still there") || !c.isMarked(t) {
		t.Errorf("the stopped one is not repaired: %s", got)
	}

	docker("$runtime rm -f $containers")
	if got := c.run(t, "./cluster-up.sh"); !strings.Contains(got, "making a new one") || c.isMarked(t) {
		t.Errorf("the removed one is not made again: %s", got)
	}

	c.run(t, "./cluster-down.sh")
	if left := docker("echo $containers"); left != "" {
		t.Errorf("containers left: %s", left)
	}
	if _, err := os.Stat(c.folder); err == nil {
		t.Errorf("%s is still there", c.folder)
	}
}

func TestSamplesRunInContainersOnKind(t *testing.T) {
	testcluster.RequireKind(t)
	c := &cluster{env: []string{"CLUSTER_DIR=" + os.Getenv("CLUSTER_DIR")}}
	c.run(t, "./apply-samples.sh")
	ids := strings.Fields(c.run(t, "./kubectl", "get", "pods", "-n", "test",
		"-o", "jsonpath={.items[*].status.containerStatuses[*].containerID}"))
	if len(ids) < 4 {
		t.Errorf("containers %q, want at least 4", ids)
	}
	for _, id := range ids {
		if !strings.HasPrefix(id, "containerd://") {
			t.Errorf("container %q is none", id)
		}
	}
}
