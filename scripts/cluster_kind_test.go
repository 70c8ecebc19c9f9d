package scripts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
	"example.com/client-go-workbook/scripts/cluster/marker"
)

// newKindCluster prepares a kind cluster of a test's own; cluster-up.sh brings it up. It is removed at the end of the test.
func newKindCluster(t testing.TB, env ...string) *cluster {
	t.Helper()
	testcluster.RequireKind(t)
	c := &cluster{folder: filepath.Join(testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t), "my cluster")}
	c.env = append(env, "CLUSTER=kind", "CLUSTER_DIR="+c.folder, "KIND_NODE_IMAGE="+os.Getenv("KIND_NODE_IMAGE"))
	t.Cleanup(func() { run(t, c.env, "./cluster-down.sh") })
	return c
}

func TestKindClusterIsRepaired(t *testing.T) {
	c := newKindCluster(t)
	name := ""
	// docker runs docker, or podman, on the cluster's containers.
	docker := func(arguments string) string {
		return strings.TrimSpace(c.run(t, "bash", "-c", `runtime=docker; docker ps -q >/dev/null 2>&1 || runtime=podman
			containers=$($runtime ps -aq --filter "label=io.x-k8s.kind.cluster=`+name+`")
			`+arguments))
	}

	c.run(t, "./cluster-up.sh")
	name = testkit.Must(marker.Read(c.folder))(t).Name
	c.mark(t)
	c.addUser(t)
	if got := run(t, c.env, "./cluster-up.sh"); got != (result{}) {
		t.Errorf("on a cluster that is up: %+v, want nothing", got)
	}
	docker("$runtime stop $containers")
	want := result{"", "The kind cluster does not answer: run make cluster.\n", 1}
	if got := run(t, c.env, "./cluster-status.sh"); got != want {
		t.Errorf("status of a stopped one: %+v, want %+v", got, want)
	}
	if got := c.run(t, "./cluster-up.sh"); !strings.Contains(got, "its objects are still there") || !c.isMarked(t) {
		t.Errorf("the stopped one is not repaired: %s", got)
	}
	c.hasUser(t)

	if err := os.Remove(filepath.Join(c.folder, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	if got := c.run(t, "./cluster-up.sh"); !strings.Contains(got, "its objects are still there") || !c.isMarked(t) {
		t.Errorf("without a kubeconfig it is not repaired: %s", got)
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

// TestKindRunsTheChapters runs each chapter's program as a reader does, beside samples whose containers run.
func TestKindRunsTheChapters(t *testing.T) {
	testcluster.RequireKind(t)
	testcluster.LockSamples(t)
	c := &cluster{env: []string{"CLUSTER_DIR=" + os.Getenv("CLUSTER_DIR")}}
	// What an earlier run of chapter 5 or 6 has left would leave them nothing to do. What they leave here, the tests of other
	// chapters would see.
	clean := func() {
		c.run(t, "./apply-samples.sh")
		for _, owner := range []string{"configmap/orders --namespace=databases", "databasemanager/example-mysql --namespace=default"} {
			arguments := append([]string{"delete", "--ignore-not-found", "--cascade=foreground", "--timeout=2m"}, strings.Fields(owner)...)
			var last result
			// On a busy machine, an API server can take longer for a TLS handshake than the 10 seconds that kubectl waits.
			testkit.Await(t, owner+" is deleted", func() bool {
				last = run(t, c.env, "./kubectl", arguments...)
				return last.code == 0
			}, &last)
		}
	}
	clean()
	t.Cleanup(clean)
	c.run(t, "./apply-samples.sh")
	for i, chapter := range []struct{ arguments, prints, then string }{
		{"--namespace nginx", `(?m)^LISTED +nginx/nginx-1 resourceVersion \d+ Running$`, ""},
		{"--namespace nginx", `(?m)^ADD +Pod nginx/nginx-1 \(first list\)$`, ""},
		{"--namespace shop", `(?m)^SYNCED +4 pod\(s\) `, ""},
		{"--namespace nginx", `(?m)^Sync/Add/Update for Pod nginx-1$`, ""},
		{
			"--namespace databases", `(?m)^CREATED +Deployment databases/orders-db for ConfigMap orders: mysql, 1 replica\(s\)$`,
			"rollout status deployment/orders-db --namespace=databases --timeout=5m",
		},
		{
			"--namespace default", `(?m)^CREATED +Deployment default/mysql for DatabaseManager example-mysql$`,
			"wait dbm/example-mysql --namespace=default --for=condition=Ready --timeout=5m",
		},
	} {
		number := strconv.Itoa(i + 1)
		t.Run(number, func(t *testing.T) {
			c.run(t, "./chapter.sh", number, "--help") // compiles it, however long that takes
			program := testkit.Start(t, command(c.env, "./chapter.sh", append([]string{number}, strings.Fields(chapter.arguments)...)...))
			program.Await(t, chapter.prints)
			if chapter.then != "" {
				c.run(t, "./kubectl", strings.Fields(chapter.then)...)
			}
			program.Signal(t, os.Interrupt)
			if code := program.Exit(t); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
		})
	}
	running := regexp.MustCompile(`^true containerd://`)
	for namespace, containers := range map[string]int{"nginx": 1, "default": 4, "test": 4, "shop": 7, "databases": 1} {
		lines := strings.Split(strings.TrimSpace(c.run(t, "./kubectl", "get", "pods", "--namespace", namespace, "-o",
			`jsonpath={range .items[*].status.containerStatuses[*]}{.ready} {.containerID}{"\n"}{end}`)), "\n")
		if len(lines) != containers || slices.ContainsFunc(lines, func(line string) bool { return !running.MatchString(line) }) {
			t.Errorf("namespace %s: containers %q, want %d that run", namespace, lines, containers)
		}
	}
}
