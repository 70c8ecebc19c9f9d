package scripts_test

import (
	"errors"
	"flag"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// programs are the local cluster's processes.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller"}

// TestMain lets four tests run at once: they wait for most of the time.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4")
	m.Run()
}

// strangeName is the name of the clusters' folders, so that every test is also one of how paths are quoted.
const strangeName = `my cluster, O'Brien "ü" [x]* $HOME%d&;`

// cluster is a local cluster of one test, in a folder with a strange name, with a home folder of its own.
type cluster struct {
	folder, home string
	env          []string
}

// TestClusters runs one after the other what has clusters of its own: each waits for the place that testcluster.Alone gives, and four
// that wait would be all that run.
func TestClusters(t *testing.T) {
	t.Parallel()
	testkit.All(t, "starts clusters of its own")
	requireBinaries(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"the cause of a failed start is named", theCauseOfAFailedStartIsNamed}, // waits for no place
		{"local cluster", localCluster},
		{"a bare machine has all that is needed", aBareMachineHasAllThatIsNeeded},
	} {
		t.Run(test.name, test.run)
	}
}

// newCluster prepares a cluster; up brings it up. It is removed at the end of the test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	testcluster.Alone(t)
	return noCluster(t)
}

// noCluster is newCluster for a test whose cluster never comes up.
func noCluster(t *testing.T) *cluster {
	t.Helper()
	requireBinaries(t)
	base := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	c := &cluster{folder: filepath.Join(base, strangeName), home: filepath.Join(base, "home")}
	if err := os.Mkdir(c.home, 0o755); err != nil {
		t.Fatal(err)
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	c.env = append(goCaches(t), "CLUSTER=local", "CLUSTER_DIR="+c.folder, "HOME="+c.home, "XDG_CACHE_HOME="+cache,
		"ETCD_NAME=mine", "KWOK_RUNTIME=docker") // they are not for this cluster
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(c.folder, "kwokctl.log"))
			t.Logf("kwokctl's log:\n%s", log)
		}
		run(t, c.env, "./cluster-down.sh")
	})
	return c
}

// goCaches is the environment in which go finds what it has built before, whatever $HOME is.
func goCaches(t *testing.T) (env []string) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		env = append(env, name+"="+strings.TrimSpace(run(t, nil, "go", "env", name).stdout))
	}
	return env
}

// requireBinaries skips a test of the local cluster where that has not been built, but not under make test, which builds it.
// It also skips under make test-kind.
func requireBinaries(t *testing.T) {
	t.Helper()
	switch {
	case os.Getenv("CLUSTER") == "kind":
		t.Skip("is about the local cluster: make test-all runs it")
	case run(t, nil, "./cluster.sh", "programs").code == 0:
	case os.Getenv("REQUIRE_CLUSTER") != "":
		t.Fatal("the local cluster is not built: run CLUSTER=local make cluster")
	default:
		t.Skip("needs the local cluster's programs: run CLUSTER=local make cluster")
	}
}

// run runs a script on this cluster, which has to succeed, and returns what it printed.
func (c *cluster) run(t testing.TB, script string, arguments ...string) string {
	t.Helper()
	got := run(t, c.env, script, arguments...)
	if got.code != 0 {
		t.Fatalf("%s %q: %+v", script, arguments, got)
	}
	return got.stdout + got.stderr
}

// processes returns the process ids of this cluster's programs.
func (c *cluster) processes(t *testing.T) map[string]int {
	t.Helper()
	return c.find(t, programs...)
}

// find returns the process ids of those programs that run for this cluster.
func (c *cluster) find(t *testing.T, programs ...string) map[string]int {
	t.Helper()
	pids := map[string]int{}
	all := testkit.Must(process.Pids())(t)
	for _, pid := range all {
		arguments, err := (&process.Process{Pid: pid}).CmdlineSlice()
		if err != nil || len(arguments) == 0 || !strings.Contains(strings.Join(arguments[1:], " "), "="+c.folder+"/.kwok/") {
			continue
		}
		name := filepath.Base(arguments[0])
		if !slices.Contains(programs, name) {
			continue
		}
		// What starts a program is a copy of itself for a moment.
		if pids[name] != 0 && !isParent(pids[name], pid) {
			t.Errorf("%s runs twice", name)
		}
		pids[name] = int(pid)
	}
	return pids
}

func isParent(parent int, of int32) bool {
	found, err := (&process.Process{Pid: of}).Ppid()
	return err == nil && int(found) == parent
}

// kill kills programs of this cluster, and returns when they are gone.
func (c *cluster) kill(t *testing.T, names ...string) {
	t.Helper()
	pids := c.processes(t)
	for _, name := range names {
		if err := syscall.Kill(pids[name], syscall.SIGKILL); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	testkit.Await(t, "the killed processes are gone", func() bool { return len(c.find(t, names...)) == 0 })
}

// keptItsObjects checks that all runs, and that the object is there that mark has put on the cluster.
func (c *cluster) keptItsObjects(t *testing.T) {
	t.Helper()
	c.isWhole(t)
	if !c.isMarked(t) {
		t.Error("the objects are lost")
	}
}

// isWhole checks that all programs run and that the cluster answers.
func (c *cluster) isWhole(t *testing.T) {
	t.Helper()
	pids := c.processes(t)
	for _, name := range programs {
		if pids[name] == 0 {
			t.Errorf("%s does not run", name)
		}
	}
	c.run(t, "./cluster-status.sh")
}

// mark puts an object on the cluster, and isMarked reports whether it is still there.
func (c *cluster) mark(t *testing.T) {
	t.Helper()
	if !c.isMarked(t) {
		c.run(t, "./kubectl", "create", "namespace", "mark")
	}
}

func (c *cluster) isMarked(t *testing.T) bool {
	t.Helper()
	return run(t, c.env, "./kubectl", "get", "namespace", "mark").code == 0
}

// addUser adds a user and a context to the kubeconfig, as chapter 2's README does. hasUser checks that they are still there.
func (c *cluster) addUser(t *testing.T) {
	t.Helper()
	c.run(t, "./kubectl", "config", "set-credentials", "another", "--token=any")
	c.run(t, "./kubectl", "config", "set-context", "another", "--user=another", "--cluster=workbook")
}

func (c *cluster) hasUser(t *testing.T) {
	t.Helper()
	if got := c.run(t, "./kubectl", "config", "get-contexts", "-o", "name"); got != "another\nworkbook\n" {
		t.Errorf("contexts %q, want another and workbook", got)
	}
}

// address is the API server's host and port.
func (c *cluster) address(t *testing.T) string {
	t.Helper()
	server := testkit.Must(url.Parse(c.run(t, "./kubectl", "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")))(t)
	return server.Host
}

func repairs(t *testing.T, c *cluster) {
	c.mark(t)
	c.addUser(t)
	address := c.address(t)
	for _, killed := range [][]string{programs, {"etcd"}, {"kube-scheduler"}} {
		c.kill(t, killed...)
		if len(killed) == len(programs) {
			// After a new version of the workbook, the programs are in another folder, and the old one may be deleted.
			link := filepath.Join(c.kwokFolder(), "bin", "etcd")
			if err := errors.Join(os.Remove(link), os.Symlink("/gone/etcd", link)); err != nil {
				t.Fatal(err)
			}
		}
		got := run(t, c.env, "./cluster-status.sh")
		want := "The local cluster is not whole, these don't run: " + strings.Join(killed, " ") + " - run make cluster.\n"
		if got != (result{"", want, 1}) {
			t.Errorf("status: %+v, want %q", got, want)
		}
		c.run(t, "./cluster-up.sh")
		c.isWhole(t)
	}
	c.hasUser(t)
	begin := time.Now()
	c.run(t, "./kubectl", "run", "soon", "--image=nginx", "--restart=Never")
	testkit.Await(t, "a pod to run", func() bool {
		return c.run(t, "./kubectl", "get", "pod", "soon", "-o", "jsonpath={.status.phase}") == "Running"
	})
	if took := time.Since(begin); took > 100*time.Second { // a Lease of kwok's takes 200 seconds to run out
		t.Errorf("after a restart, a pod runs after %s", took)
	}
	c.run(t, "./kubectl", "delete", "pod", "soon", "--wait=false")
	// Learners delete files.
	for name, missing := range map[string]string{"kubeconfig": "kubeconfig", "bin": "kubectl"} {
		if err := os.RemoveAll(filepath.Join(c.folder, name)); err != nil {
			t.Fatal(err)
		}
		if got := run(t, c.env, "./cluster-status.sh"); got.code != 1 || !strings.Contains(got.stderr, missing+" is missing") {
			t.Errorf("status without %s: %+v", name, got)
		}
		c.run(t, "./cluster-up.sh")
		c.isWhole(t)
	}

	if !c.isMarked(t) {
		t.Error("the objects are lost")
	}
	if now := c.address(t); now != address {
		t.Errorf("the API server moved from %s to %s", address, now)
	}
}

// isInAnotherNetwork has the cluster started where this test cannot reach it, as by a container that shares the folder. Its etcd
// also comes to stand still.
func isInAnotherNetwork(t *testing.T, c *cluster) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has network namespaces")
	}
	c.mark(t)
	c.kill(t, programs...)
	got := run(t, c.env, offline(t), "./cluster-up.sh")
	if got.code == 125 && strings.Contains(got.stderr, "no network namespace") && os.Getenv("CI") == "" {
		t.Skip(got.stderr)
	}
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if status := run(t, c.env, "./cluster-status.sh"); status.code == 0 {
		t.Errorf("a cluster in another network is whole: %+v", status)
	}
	c.run(t, "./cluster-up.sh")
	c.isWhole(t)

	if err := syscall.Kill(c.processes(t)["etcd"], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the API server lacks its etcd", func() bool { return run(t, c.env, "./cluster-status.sh").code != 0 })
	if got := c.run(t, "./apiserver.sh", "start"); !strings.Contains(got, "starting all of the cluster again") {
		t.Errorf("apiserver.sh start beside an etcd that stands still: %q", got)
	}
	c.keptItsObjects(t)
}

// kwokctlFails has kwokctl fail when it is to make the cluster's files anew. It then removes its folder.
func kwokctlFails(t *testing.T, c *cluster) {
	c.mark(t)
	c.kill(t, programs...)
	kubeconfig := filepath.Join(c.kwokFolder(), "kubeconfig.yaml") // which it writes
	if err := errors.Join(os.Remove(kubeconfig), os.Mkdir(kubeconfig, 0o700)); err != nil {
		t.Fatal(err)
	}
	if got := run(t, c.env, "./cluster-up.sh"); got.code != 1 || !strings.Contains(got.stderr, "kwokctl cannot make the cluster") {
		t.Errorf("%+v, want that kwokctl cannot make the cluster", got)
	}
	if _, err := os.Stat(c.kwokFolder()); err == nil {
		t.Error("kwokctl has left its folder: this is no test")
	}
	if got := c.run(t, "./cluster-up.sh"); !strings.Contains(got, "its objects are still there") || !c.isMarked(t) {
		t.Errorf("the objects are lost: %q", got)
	}
	c.isWhole(t)
}

func takesAnotherPort(t *testing.T, c *cluster) {
	c.mark(t)
	address := c.address(t)
	c.kill(t, programs...)
	var listener net.Listener
	testkit.Await(t, "its port is free", func() (free bool) {
		var err error
		listener, err = net.Listen("tcp", address)
		return err == nil
	})
	defer listener.Close()

	if got := c.run(t, "./cluster-up.sh"); !strings.Contains(got, "The cluster is up again at another") {
		t.Errorf("it said %q", got)
	}
	c.keptItsObjects(t)
}

// kwokFolder is where kwokctl keeps the cluster's data, keys and settings.
func (c *cluster) kwokFolder() string {
	return filepath.Join(c.folder, ".kwok", "clusters", "workbook")
}

// slowAPIServer holds the API server for longer than the other programs wait for it. This is a repair after one that
// was killed while kwokctl wrote the settings.
func slowAPIServer(t *testing.T, c *cluster) {
	c.mark(t)
	c.kill(t, programs...)
	if err := os.Remove(filepath.Join(c.kwokFolder(), "kwok.yaml")); err != nil {
		t.Fatal(err)
	}
	up := testkit.Start(t, command(c.env, "./cluster-up.sh"))
	signal := func(s syscall.Signal) {
		if pid := c.processes(t)["kube-apiserver"]; pid != 0 {
			if err := syscall.Kill(pid, s); err != nil {
				t.Error(err)
			}
		}
	}
	testkit.Await(t, "the API server is started", func() bool { return c.processes(t)["kube-apiserver"] != 0 })
	// Held until another has given up, which takes 20 seconds. A new API server, should the old be given up, is held as well.
	others := map[string]int{}
	testkit.Await(t, "another program gives up", func() bool {
		signal(syscall.SIGSTOP)
		pids := c.processes(t)
		for _, name := range []string{"kube-controller-manager", "kube-scheduler", "kwok-controller"} {
			if others[name] == 0 {
				others[name] = pids[name]
			} else if pids[name] != others[name] {
				return true
			}
		}
		return false
	})
	signal(syscall.SIGCONT)
	if code := up.Exit(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	c.keptItsObjects(t)
}

// movesAsideACutLog cuts etcd's write-ahead log. Such an etcd starts, and answers no write.
func movesAsideACutLog(t *testing.T, c *cluster) {
	c.mark(t)
	c.kill(t, programs...)
	wal := filepath.Join(c.kwokFolder(), "etcd", "member", "wal")
	for _, file := range testkit.Must(fs.Glob(os.DirFS(wal), "*.wal"))(t) {
		if err := os.Truncate(filepath.Join(wal, file), 30000); err != nil {
			t.Fatal(err)
		}
	}
	c.beginsAgain(t, "its write-ahead log ends with number ")
}

func movesAside(t *testing.T, c *cluster) {
	c.mark(t)
	c.kill(t, programs...)
	err := filepath.WalkDir(filepath.Join(c.folder, ".kwok", "etcd"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.WriteFile(path, []byte("garbage"), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}

	c.beginsAgain(t, "etcd cannot go on from its data: ")
}

// beginsAgain checks that cluster-up moves etcd's data aside and says so. It takes seconds; a busy machine has minutes.
func (c *cluster) beginsAgain(t *testing.T, why string) {
	t.Helper()
	before := testkit.Must(fs.Glob(os.DirFS(c.folder), "etcd-damaged-*/member/wal/*"))(t)
	up := command(c.env, "./cluster-up.sh")
	patience := time.AfterFunc(3*time.Minute, func() { up.Process.Signal(os.Interrupt) })
	defer patience.Stop()
	output, err := up.CombinedOutput()
	got := string(output)
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	aside := testkit.Must(fs.Glob(os.DirFS(c.folder), "etcd-damaged-*/member/wal/*"))(t)
	if len(aside) <= len(before) || !strings.Contains(got, why) || !strings.Contains(got, filepath.Join(c.folder, "etcd-damaged-")) {
		t.Errorf("the data are not moved aside: %v, it said %q", aside, got)
	}
	c.isWhole(t)
	if c.isMarked(t) {
		t.Error("it is not a new cluster")
	}
}
