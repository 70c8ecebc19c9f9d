package scripts_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"flag"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/client-go-workbook/internal/testkit"
)

// programs are the local cluster's processes.
var programs = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller"}

// TestMain lets four tests run at once that have clusters of their own: they wait for most of the time.
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

// newCluster prepares a cluster; up brings it up. It is removed at the end of the test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	requireBinaries(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{folder: filepath.Join(base, strangeName), home: filepath.Join(base, "home")}
	if err := os.Mkdir(c.home, 0o755); err != nil {
		t.Fatal(err)
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	c.env = append(goCaches(t), "CLUSTER=local", "CLUSTER_DIR="+c.folder, "HOME="+c.home, "XDG_CACHE_HOME="+cache)
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

// requireBinaries skips a test where the local cluster has not been built, but not under make test, which builds it.
func requireBinaries(t *testing.T) {
	t.Helper()
	built := run(t, nil, "./cluster.sh", "programs").code == 0
	switch {
	case built:
	case os.Getenv("REQUIRE_CLUSTER") != "" && os.Getenv("CLUSTER") != "kind":
		t.Fatal("the local cluster is not built: run CLUSTER=local make cluster")
	default:
		t.Skip("needs the local cluster's programs: run CLUSTER=local make cluster")
	}
}

// run runs a script on this cluster, which has to succeed, and returns what it printed.
func (c *cluster) run(t *testing.T, script string, arguments ...string) string {
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
	pids := map[string]int{}
	all, err := process.Pids()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range all {
		arguments, err := (&process.Process{Pid: pid}).CmdlineSlice()
		if err != nil || len(arguments) == 0 || !strings.Contains(strings.Join(arguments[1:], " "), "="+c.folder+"/.kwok/clusters") {
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
	testkit.Await(t, "the killed processes are gone", func() bool {
		left := c.processes(t)
		for _, name := range names {
			if left[name] != 0 {
				return false
			}
		}
		return true
	})
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

// address is the API server's host and port.
func (c *cluster) address(t *testing.T) string {
	t.Helper()
	server, err := url.Parse(c.run(t, "./kubectl", "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}"))
	if err != nil {
		t.Fatal(err)
	}
	return server.Host
}

// TestLocalClusterIsRepaired breaks one cluster in one way after the other.
func TestLocalClusterIsRepaired(t *testing.T) {
	onOneCluster(t, []clusterTest{
		{"cluster-up repairs what is broken and keeps the data", repairs},
		{"cluster-up moves aside what etcd cannot read", movesAside},
	})
}

// TestLocalClusterOnABusyMachine is about other programs, and about time.
func TestLocalClusterOnABusyMachine(t *testing.T) {
	onOneCluster(t, []clusterTest{
		{"cluster-up takes another port where its own is taken", takesAnotherPort},
		{"cluster-up repairs what a killed repair left, waits for a slow API server, and keeps the data", slowAPIServer},
	})
}

// TestLocalCluster uses one cluster for one test after the other.
func TestLocalCluster(t *testing.T) {
	onOneCluster(t, []clusterTest{
		{"the samples get ready and come back", samples},
		{"a sample that cannot run delays nothing", samplesThatCannotRun},
		{"there is room for thousands of pods", room},
		{"a chapter stops at an interrupt", interrupted},
		{"a stopped API server comes back with its data", stoppedAPIServer},
		{"other users of the machine get no data and no keys", private},
	})
}

type clusterTest struct {
	name string
	run  func(*testing.T, *cluster)
}

func onOneCluster(t *testing.T, tests []clusterTest) {
	t.Helper()
	t.Parallel()
	c := newCluster(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c.run(t, "./cluster-up.sh")
			test.run(t, c)
		})
	}
}

func repairs(t *testing.T, c *cluster) {
	c.mark(t)
	address := c.address(t)
	others := []string{"kube-controller-manager", "kube-scheduler", "kwok-controller"}
	for _, killed := range [][]string{programs, {"etcd"}, {"kube-apiserver"}, others} {
		c.kill(t, killed...)
		if killed[0] == others[0] {
			// Beside them, an API server that is frozen: it runs and does not answer, and they need it.
			if err := syscall.Kill(c.processes(t)["kube-apiserver"], syscall.SIGSTOP); err != nil {
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
	// Learners delete files.
	for _, name := range []string{"kubeconfig", "bin"} {
		if err := os.RemoveAll(filepath.Join(c.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	c.run(t, "./cluster-up.sh")
	c.isWhole(t)

	if !c.isMarked(t) {
		t.Error("the objects are lost")
	}
	if now := c.address(t); now != address {
		t.Errorf("the API server moved from %s to %s", address, now)
	}
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
	c.isWhole(t)
	if !c.isMarked(t) {
		t.Error("the objects are lost")
	}
}

// kwokFolder is where kwokctl keeps the cluster's data, keys and settings.
func (c *cluster) kwokFolder() string {
	return filepath.Join(c.folder, ".kwok", "clusters", "workbook")
}

// slowAPIServer holds the API server for longer than the controller manager waits for it. This is a repair after one that
// was killed while kwokctl wrote the settings.
func slowAPIServer(t *testing.T, c *cluster) {
	c.mark(t)
	c.kill(t, programs...)
	if err := os.Remove(filepath.Join(c.kwokFolder(), "kwok.yaml")); err != nil {
		t.Fatal(err)
	}
	up := command(c.env, "./cluster-up.sh")
	var said bytes.Buffer
	up.Stdout, up.Stderr = &said, &said
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	signal := func(s syscall.Signal) {
		if pid := c.processes(t)["kube-apiserver"]; pid != 0 {
			if err := syscall.Kill(pid, s); err != nil {
				t.Error(err)
			}
		}
	}
	testkit.Await(t, "the API server is started", func() bool { return c.processes(t)["kube-apiserver"] != 0 })
	// Held for 30 seconds: the others give up after 20. A new one, should the old be given up, is held as well.
	for held := time.Now(); time.Since(held) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
		signal(syscall.SIGSTOP)
	}
	signal(syscall.SIGCONT)
	if err := up.Wait(); err != nil {
		t.Errorf("%v: %s", err, &said)
	}
	c.isWhole(t)
	if !c.isMarked(t) {
		t.Errorf("the objects are lost: %s", &said)
	}
}

// private looks at what another user could: file modes, and the ports, which all users reach.
func private(t *testing.T, c *cluster) {
	err := filepath.WalkDir(c.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		if entry.Name() == "kubectl-cache" { // it names the server's resources, and is in a folder for its owner only
			return filepath.SkipDir
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(filepath.Join(c.kwokFolder(), "kwok.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	port := func(name string) string {
		match := regexp.MustCompile(`(?m)^  ` + name + `: (\d+)$`).FindSubmatch(settings)
		if match == nil {
			t.Fatalf("no %s in kwok.yaml", name)
		}
		return string(match[1])
	}
	anybody := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, url := range []string{
		"https://127.0.0.1:" + port("etcdPort") + "/v3/kv/range",
		"https://127.0.0.1:" + port("etcdPeerPort") + "/members",
		"http://127.0.0.1:" + port("etcdPort") + "/v3/kv/range",
		"http://127.0.0.1:" + port("kwokControllerPort") + "/debug/pprof/heap",
		"https://" + c.address(t) + "/api/v1/secrets",
	} {
		response, err := anybody.Post(url, "application/json", strings.NewReader(`{"key":"AA=="}`))
		if err != nil {
			continue
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			t.Errorf("%s answers anybody", url)
		}
	}
}

func movesAside(t *testing.T, c *cluster) {
	c.mark(t)
	c.kill(t, programs...)
	err := filepath.WalkDir(filepath.Join(c.kwokFolder(), "etcd"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.WriteFile(path, []byte("garbage"), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}

	got := c.run(t, "./cluster-up.sh")
	aside, err := fs.Glob(os.DirFS(c.folder), "etcd-damaged-*/member/wal/*")
	if err != nil || len(aside) == 0 || !strings.Contains(got, filepath.Join(c.folder, "etcd-damaged-")) {
		t.Errorf("the data are not moved aside: %v, %v, it said %q", aside, err, got)
	}
	c.isWhole(t)
	if c.isMarked(t) {
		t.Error("it is not a new cluster")
	}
}

func stoppedAPIServer(t *testing.T, c *cluster) {
	c.mark(t)
	before := c.processes(t)

	c.run(t, "./apiserver.sh", "stop")
	stopped := c.processes(t)
	if stopped["kube-apiserver"] != 0 || stopped["etcd"] != before["etcd"] {
		t.Errorf("running: %v, before: %v", stopped, before)
	}
	c.run(t, "./apiserver.sh", "start")
	c.isWhole(t)
	after := c.processes(t)
	for _, name := range programs {
		if same := after[name] == before[name]; same == (name == "kube-apiserver") {
			t.Errorf("%s: process %d, before %d", name, after[name], before[name])
		}
	}
	if !c.isMarked(t) {
		t.Error("the objects are lost")
	}
	if got := run(t, c.env, "./apiserver.sh"); got != (result{"", "usage: scripts/apiserver.sh stop|start\n", 2}) {
		t.Errorf("without an argument: %+v", got)
	}
}

func samples(t *testing.T, c *cluster) {
	c.run(t, "./apply-samples.sh", "1")
	pods := func() string {
		return c.run(t, "./kubectl", "get", "pods", "-A", "-o", `jsonpath={range .items[*]}{.metadata.namespace} {.status.phase} {end}`)
	}
	if got, want := pods(), strings.Repeat("default Running ", 3)+"nginx Running "; got != want {
		t.Errorf("chapter 1: %q, want %q", got, want)
	}
	c.run(t, "./apply-samples.sh")
	selected := func() string {
		return c.run(t, "./kubectl", "get", "deployments", "-n", "test", "-l", "app=test", "-o", "name")
	}
	if got, want := selected(), "deployment.apps/test-1\ndeployment.apps/test-2\n"; got != want {
		t.Errorf("chapter 3: %q, want %q", got, want)
	}

	c.run(t, "./kubectl", "scale", "deployment", "nginx-deployment", "--replicas=1")
	c.run(t, "./kubectl", "delete", "pod", "nginx-1", "-n", "nginx")
	c.run(t, "./apply-samples.sh", "--if-missing", "1")
	if got, want := pods(), "nginx Running "; !strings.Contains(got, want) {
		t.Errorf("after deleting one: %q, want %q in it", got, want)
	}
	if got := c.run(t, "./apply-samples.sh"); got != "" {
		t.Errorf("the second time it said %q", got)
	}
}

// Pods become ready without waiting for any limit on requests.
func room(t *testing.T, c *cluster) {
	c.run(t, "./kubectl", "create", "deployment", "many", "--image=nginx:1.28.0", "--replicas=200")
	c.run(t, "./kubectl", "rollout", "status", "deployment", "many", "--timeout=60s")
	room := int64(0)
	nodes := c.run(t, "./kubectl", "get", "nodes", "-o", "jsonpath={.items[*].status.allocatable.pods}")
	for allocatable := range strings.FieldsSeq(nodes) {
		pods, err := resource.ParseQuantity(allocatable)
		if err != nil {
			t.Fatal(err)
		}
		room += pods.Value()
	}
	if room < 12000 {
		t.Errorf("room for %d pods, want at least 12000", room)
	}
}

func interrupted(t *testing.T, c *cluster) {
	cmd := command(c.env, "./chapter.sh", "1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Error("it printed nothing")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A sample that cannot run delays nothing: its pod's own reason is printed. On the local cluster, only a pod that fits
// on no node does not run.
func samplesThatCannotRun(t *testing.T, c *cluster) {
	c.run(t, "./kubectl", "delete", "pod", "nginx-1", "-n", "nginx", "--ignore-not-found")
	c.run(t, "./kubectl", "cordon", "-l", "type=kwok")
	t.Cleanup(func() { c.run(t, "./kubectl", "uncordon", "-l", "type=kwok") })
	got := c.run(t, "./apply-samples.sh", "--if-missing", "1")
	for _, want := range []string{"The sample Pod nginx/nginx-1 does not run: Unschedulable: ", "Going on: "} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not in it once: %s", want, got)
		}
	}
}
