package scripts_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/connect"
	"example.com/client-go-workbook/internal/test/testkit"
	"example.com/client-go-workbook/scripts/cluster/marker"
)

// A checkout with its cluster is copied, and moved. What would use the kubeconfig there says so, until make cluster: the kubeconfig of a
// copy is good for the original.

// users are all that use a cluster's kubeconfig, or its processes.
var users = [][]string{
	{"./kubectl", "create", "configmap", "stray"},
	{"./kubectl", "get", "nodes"},
	{"./apply-samples.sh"},
	{"./apply-samples.sh", "--if-missing", "1"},
	{"./apiserver.sh", "stop"},
	{"./apiserver.sh", "start"},
	{"./cluster.sh", "audit"},
	{"./cluster-status.sh"},
}

// isRefused checks that nobody uses the cluster of this folder.
func (c *cluster) isRefused(t *testing.T) {
	t.Helper()
	want := c.folder + " was copied or moved, and has no cluster of its own: run make cluster"
	for _, user := range users {
		if got := run(t, c.env, user[0], user[1:]...); got != (result{"", want + "\n", 1}) {
			t.Errorf("%q: %+v, want %q", user, got, want)
		}
	}
	// The chapters' programs and the tests.
	if _, err := c.load(); err == nil || err.Error() != want {
		t.Errorf("connect: %v, want %q", err, want)
	}
}

func (c *cluster) load() (*connect.Cluster, error) {
	return (&connect.Options{Kubeconfig: filepath.Join(c.folder, "kubeconfig")}).Load()
}

func otherPaths(t *testing.T, c *cluster) {
	folder := t.TempDir()
	link, linkAbove := filepath.Join(folder, "link"), filepath.Join(folder, "above")
	kubeconfig := filepath.Join(folder, "kubeconfig")
	for path, target := range map[string]string{
		link: c.folder, linkAbove: filepath.Dir(c.folder), kubeconfig: filepath.Join(c.folder, "kubeconfig"),
	} {
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	indirect := c.folder + "/../" + strangeName + "/"
	for _, other := range []*cluster{c, c.in(link), c.in(filepath.Join(linkAbove, strangeName)), c.in(indirect)} {
		other.run(t, "./kubectl", "get", "nodes")
		other.run(t, "./cluster-status.sh")
		if _, err := other.load(); err != nil {
			t.Errorf("%s: %v", other.folder, err)
		}
		if got := run(t, other.env, "./cluster-up.sh"); got != (result{}) {
			t.Errorf("%s: up said %+v, want nothing", other.folder, got)
		}
	}
	if _, err := (&connect.Options{Kubeconfig: kubeconfig}).Load(); err != nil {
		t.Errorf("a link to the kubeconfig: %v", err)
	}
}

// oneCore keeps a core busy, and ends by itself after some minutes: a test that is killed leaves nothing behind for long.
const oneCore = "i=0; while [ $i -lt 100000000 ]; do i=$((i+1)); done"

func copied(t *testing.T, c *cluster) {
	c.mark(t)
	before := c.processes(t)
	twin := c.in(filepath.Join(filepath.Dir(c.folder), "copy"))
	t.Cleanup(func() { run(t, twin.env, "./cluster-down.sh") })
	cp := func() {
		t.Helper()
		if output, err := exec.Command("cp", "-a", c.folder, twin.folder).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	cp()
	twin.isRefused(t)
	twin.run(t, "./cluster-down.sh")
	cp()
	twin.isRefused(t)
	want := twin.folder + " is a copy of " + c.folder + ": it gets a cluster of its own.\n"
	testkit.Start(t, exec.Command("sh", "-c", oneCore)) // beside a process that wants a core
	if got := twin.run(t, "./cluster-up.sh"); !strings.Contains(got, want) {
		t.Errorf("up in the copy said %q", got)
	}
	twin.isWhole(t)
	if twin.address(t) == c.address(t) {
		t.Errorf("both are at %s", c.address(t))
	}
	twin.run(t, "./kubectl", "create", "namespace", "twin")
	// With the kubeconfig of one nobody gets at the other, whatever ports they have later.
	for _, from := range []*cluster{c, twin} {
		to := map[*cluster]*cluster{c: twin, twin: c}[from]
		if got := run(t, from.env, "./kubectl", "--server=https://"+to.address(t), "get", "nodes"); got.code == 0 {
			t.Errorf("the keys of %s are good for %s", from.folder, to.folder)
		}
	}
	if got := run(t, twin.env, "./cluster-up.sh"); got != (result{}) {
		t.Errorf("up once more in the copy: %+v", got)
	}
	write(t, filepath.Join(twin.folder, "test-kind", "type"), "local\n") // tests have run in it
	twin.leavesNothing(t)

	c.isWhole(t)
	if after := c.processes(t); !maps.Equal(after, before) {
		t.Errorf("the original's processes: %v, before %v", after, before)
	}
	got := c.run(t, "./kubectl", "get", "namespaces,configmaps", "-o", "name")
	if !strings.Contains(got, "namespace/mark\n") || strings.Contains(got, "twin") || strings.Contains(got, "stray") {
		t.Errorf("the original has %q", got)
	}
}

// move moves the folder, with the cluster that runs in it.
func (c *cluster) move(t *testing.T, to string) {
	t.Helper()
	if err := os.Rename(c.folder, to); err != nil {
		t.Fatal(err)
	}
}

func moved(t *testing.T, c *cluster) {
	c.mark(t)
	c.addUser(t)
	address := c.address(t)
	other := c.in(filepath.Join(filepath.Dir(c.folder), "moved"))
	c.move(t, other.folder)
	other.isRefused(t)
	if got := other.run(t, "./cluster-up.sh"); !strings.Contains(got, "its objects are still there") {
		t.Errorf("up said %q", got)
	}
	other.keptItsObjects(t)
	other.hasUser(t)
	if now := other.address(t); now != address {
		t.Errorf("the API server moved from %s to %s", address, now)
	}
	if left := c.processes(t); len(left) > 0 {
		t.Errorf("from the old folder still run: %v", left)
	}
	if _, err := os.Stat(c.folder); err == nil {
		t.Errorf("%s is there again", c.folder)
	}
	// With a link at the old place, which many leave there, nothing changes.
	if err := os.Symlink(other.folder, c.folder); err != nil {
		t.Fatal(err)
	}
	c.run(t, "./kubectl", "get", "nodes")
	if err := os.Remove(c.folder); err != nil {
		t.Fatal(err)
	}

	linked := c.in(filepath.Join(filepath.Dir(c.folder), "moved, with a link"))
	other.move(t, linked.folder)
	if err := os.Symlink(linked.folder, other.folder); err != nil {
		t.Fatal(err)
	}
	linked.run(t, "./cluster-up.sh")
	linked.keptItsObjects(t)
	if err := os.Remove(other.folder); err != nil {
		t.Fatal(err)
	}
	other = linked

	again := c.in(filepath.Join(filepath.Dir(c.folder), "moved again"))
	other.move(t, again.folder)
	if len(other.processes(t)) == 0 {
		t.Error("nothing runs from the old folder: this is no test")
	}
	if got, want := again.run(t, "./cluster-down.sh"), "The local cluster is removed.\n"; got != want {
		t.Errorf("down said %q, want %q", got, want)
	}
	for _, folder := range []*cluster{other, again} {
		if left := folder.processes(t); len(left) > 0 {
			t.Errorf("from %s still run: %v", folder.folder, left)
		}
	}
	if entries := testkit.Must(os.ReadDir(filepath.Dir(c.folder)))(t); len(entries) != 1 { // home
		t.Errorf("left: %v", entries)
	}
}

// TestTheContainersOfACopiedOrMovedFolder has a docker that only writes down what it is asked. Kind's clusters have no
// folder: a moved folder's cluster is found by its name, which a copy also has.
func TestTheContainersOfACopiedOrMovedFolder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		original  bool // is still there
		isRemoved bool
	}{
		"a copy":                  {original: true},
		"a folder that was moved": {isRemoved: true},
	} {
		t.Run(name, func(t *testing.T) {
			base := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
			original, folder, asked := filepath.Join(base, "original"), filepath.Join(base, "folder"), filepath.Join(base, "asked")
			line := marker.Marker{Type: "kind", Name: "workbook-of-the-original", Folder: original}.String()
			write(t, filepath.Join(folder, "type"), line)
			if test.original {
				write(t, filepath.Join(original, "type"), line)
			}
			docker := fakes(t, map[string]string{"docker": `echo "$@" >>"` + asked + `"`})
			env := append(goCaches(t), docker, "CLUSTER_DIR="+folder)
			if got := run(t, env, "./cluster-down.sh"); got.code != 0 || !strings.HasSuffix(got.stderr, "The kind cluster is removed.\n") {
				t.Errorf("down: %+v", got)
			}
			said, err := os.ReadFile(asked)
			if isRemoved := strings.Contains(string(said), "workbook-of-the-original"); isRemoved != test.isRemoved {
				t.Errorf("docker was asked for the original's containers: %t, want %t: %s, %v", isRemoved, test.isRemoved, said, err)
			}
			if _, err := os.Stat(folder); err == nil {
				t.Error("the folder is still there")
			}
		})
	}
}
