package scripts_test

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/client-go-workbook/internal/test/testkit"
)

// localCluster uses one cluster for one test after the other. Each begins with cluster-up.
func localCluster(t *testing.T) {
	c := newCluster(t)
	t.Run("two users start at once", func(t *testing.T) { twoUsersAtOnce(t, c) })
	for _, test := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"up on a cluster that is up changes nothing", isLeftAlone},
		{"the samples get ready and come back", samples},
		{"what a reader's machine has set changes nothing", inSurroundings},
		{"samples that cannot be put there say why, and what to do", samplesThatFail},
		{"the reader's kuberc is not for the samples", kuberc},
		{"chapter 3's crowd has as many pods as asked for", crowd},
		{"a sample that cannot run delays nothing", samplesThatCannotRun},
		{"there is room for thousands of pods", room},
		{"a chapter stops at an interrupt", interrupted},
		{"a stopped API server comes back with its data", stoppedAPIServer},
		{"other users of the machine get no data and no keys", private},
		{"cluster-up repairs what is broken and keeps the data", repairs},
		{"cluster-up keeps the data where kwokctl fails", kwokctlFails},
		{"cluster-up moves aside what etcd cannot read", movesAside},
		{"cluster-up moves aside a write-ahead log that is cut", movesAsideACutLog},
		{"cluster-up takes another port where its own is taken", takesAnotherPort},
		{"cluster-up starts again what runs in another network, or stands still, and keeps the data", isInAnotherNetwork},
		{"cluster-up repairs what a killed repair left, waits for a slow API server, and keeps the data", slowAPIServer},
		{"another path of the folder is as good", otherPaths},
		{"a local cluster takes the place of a kind cluster that cannot be made", takesThePlace},
		{"a copy does nothing to the original, and gets a cluster of its own", copied},
		{"a folder that was moved keeps its objects, and down ends what runs from where it was", moved},
	} {
		t.Run(test.name, func(t *testing.T) {
			c.run(t, "./cluster-up.sh")
			test.run(t, c)
		})
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
	c.run(t, "./kubectl", "scale", "deployment", "test-1", "-n", "test", "--replicas=2")
	c.run(t, "./kubectl", "delete", "pod", "nginx-1", "-n", "nginx")
	c.run(t, "./apply-samples.sh", "--if-missing")
	if got := c.run(t, "./kubectl", "get", "deployment", "test-1", "-n", "test", "-o", "jsonpath={.spec.replicas}"); got != "2" {
		t.Errorf("a sample of chapter 1 was missing: one of chapter 2 has %s replicas again, want 2", got)
	}
	c.run(t, "./kubectl", "scale", "deployment", "test-1", "-n", "test", "--replicas=1")
	if got := c.run(t, "./apply-samples.sh", "--if-missing"); got != "" {
		t.Errorf("with nothing missing it said %q", got)
	}
	c.run(t, "./kubectl", "delete", "pod", "nginx-1", "-n", "nginx")
	c.run(t, "./kubectl", "label", "deployment", "nginx-deployment", "app=changed", "--overwrite")
	for _, want := range []string{
		`^Samples: configured deployment\.apps/nginx-deployment; created pod/nginx-1; \d+ unchanged\.\n$`,
		`^Samples: \d+ unchanged\.\n$`, // the second time
	} {
		if got := c.run(t, "./apply-samples.sh"); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("it said %q, want %q", got, want)
		}
	}
}

func crowd(t *testing.T, c *cluster) {
	get := func(what string) string {
		return c.run(t, "./kubectl", "get", "pods", "-n", "shop", "-l", "app=crowd", "-o", what)
	}
	pods := func() int { return strings.Count(get("name"), "\n") }
	for _, count := range []string{"300", "20", "0"} {
		got := c.run(t, "./apply-samples.sh", "--pods", count, "3")
		if want := "The Deployment shop/crowd has " + count + " pods.\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := strconv.Itoa(pods()); got != count {
			t.Errorf("%s pods, want %s", got, count)
		}
		if nodes := get("jsonpath={.items[*].spec.nodeName}"); nodes != "" {
			t.Errorf("the crowd is on nodes: %s", nodes)
		}
	}
	for _, arguments := range [][]string{
		{"--pods", "-1", "3"}, {"--pods", "many", "3"}, {"--pods", "100000", "3"}, {"--pods", "300", "2"},
	} {
		got := run(t, c.env, "./apply-samples.sh", arguments...)
		if got.code != 2 || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "try ") {
			t.Errorf("%q: %+v, want one line that says what to try, and exit code 2", arguments, got)
		}
	}
	if got := pods(); got != 0 {
		t.Errorf("wrong arguments made %d pods", got)
	}
}

// Pods become ready without waiting for any limit on requests.
func room(t *testing.T, c *cluster) {
	c.run(t, "./kubectl", "create", "deployment", "many", "--image=nginx:1.28.0", "--replicas=200")
	c.run(t, "./kubectl", "rollout", "status", "deployment", "many", "--timeout=2m")
	room := int64(0)
	nodes := c.run(t, "./kubectl", "get", "nodes", "-o", "jsonpath={.items[*].status.allocatable.pods}")
	for allocatable := range strings.FieldsSeq(nodes) {
		pods := testkit.Must(resource.ParseQuantity(allocatable))(t)
		room += pods.Value()
	}
	if room < 12000 {
		t.Errorf("room for %d pods, want at least 12000", room)
	}
}

func interrupted(t *testing.T, c *cluster) {
	program := testkit.Start(t, command(c.env, "./chapter.sh", "1"))
	program.Await(t, "\n")
	program.Signal(t, os.Interrupt)
	if code := program.Exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
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

func stoppedAPIServer(t *testing.T, c *cluster) {
	c.mark(t)
	before := c.processes(t)

	want := "The API server is stopped. scripts/apiserver.sh start starts it again.\n"
	if got := c.run(t, "./apiserver.sh", "stop"); got != want {
		t.Errorf("stop said %q, want %q", got, want)
	}
	stopped := c.processes(t)
	if stopped["kube-apiserver"] != 0 || stopped["etcd"] != before["etcd"] {
		t.Errorf("running: %v, before: %v", stopped, before)
	}
	if got, want := c.run(t, "./apiserver.sh", "start"), "The API server runs.\n"; got != want {
		t.Errorf("start said %q, want %q", got, want)
	}
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

// private looks at what another user could: file modes, and the ports, which all users reach.
func private(t *testing.T, c *cluster) {
	err := filepath.WalkDir(c.folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the cluster runs, and has removed it meanwhile
		}
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		if entry.Name() == "kubectl-cache" { // it names the server's resources, and is in a folder for its owner only
			return filepath.SkipDir
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	settings := testkit.Must(os.ReadFile(filepath.Join(c.kwokFolder(), "kwok.yaml")))(t)
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
