package testcluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testkit"
)

// Cluster is a private local cluster, which its test may break.
type Cluster struct {
	t          testing.TB
	root       string
	dir        string // CLUSTER_DIR for the scripts
	kubeconfig string
}

// Start makes a private local cluster, which takes some seconds, and removes it when the test ends. Only make test-all runs a test
// that does. Start waits until no other test has one.
// It skips a test, and fails a benchmark, if the local cluster's programs are not built, since building them takes minutes.
// It also skips under make test-kind, where such a test would see nothing of kind.
func Start(t testing.TB) *Cluster {
	t.Helper()
	testkit.All(t, "starts a cluster of its own")
	if os.Getenv("CLUSTER") == "kind" {
		t.Skip("has a local cluster of its own: make test-all runs it")
	}
	c := &Cluster{t: t, root: Root(t), dir: t.TempDir()}
	Alone(t)
	c.kubeconfig = filepath.Join(c.dir, "kubeconfig")
	if err := c.command(`scripts/cluster.sh programs`).Run(); err != nil {
		unavailable(t, errors.New("no local cluster: `CLUSTER=local make cluster` builds its programs"))
	}
	c.removeAtEnd()
	c.script(t, "scripts/cluster-up.sh")
	return c
}

// removeAtEnd starts a shell that waits for the end of its input, then removes the cluster. Its input ends when the
// test does, but also when the test's process is killed, which runs no cleanup and would leave the cluster behind.
func (c *Cluster) removeAtEnd() {
	c.t.Helper()
	// The output is kept back: with the test's process gone, writing it would kill the shell too early.
	guard := c.command(`read -r; output=$(scripts/cluster-down.sh 2>&1) || { printf %s "$output"; exit 1; }`)
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // or Ctrl-C would end it together with the test
	var output bytes.Buffer
	guard.Stdout, guard.Stderr = &output, &output
	stdin, err := guard.StdinPipe()
	if err == nil {
		err = guard.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		stdin.Close()
		if err := guard.Wait(); err != nil {
			c.t.Errorf("scripts/cluster-down.sh: %v: %s", err, &output)
		}
	})
}

// Config is [Config] for this cluster.
func (c *Cluster) Config() *rest.Config {
	c.t.Helper()
	kubeconfig, err := load(workbookContext, c.kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	return restConfig(c.t, kubeconfig)
}

// Folder returns the folder that the scripts know as $CLUSTER_DIR.
func (c *Cluster) Folder() string { return c.dir }

// Kubeconfig returns the path of this cluster's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// StopAPIServer stops the API server and nothing else; it returns when its port is closed.
func (c *Cluster) StopAPIServer(t testing.TB) {
	t.Helper()
	c.script(t, "scripts/apiserver.sh stop")
}

// StartAPIServer starts the API server again, at the same port; it returns when that is ready.
// The new one knows no resourceVersion older than itself: a watch from there ends in 410.
func (c *Cluster) StartAPIServer(t testing.TB) {
	t.Helper()
	c.script(t, "scripts/apiserver.sh start")
}

// SetFeatureGate switches a feature gate of the API server on or off, which cluster-up.sh has set. The API server reads it when it starts.
func (c *Cluster) SetFeatureGate(t testing.TB, name string, isOn bool) {
	t.Helper()
	before, after := fmt.Sprintf("=%s=%t", name, !isOn), fmt.Sprintf("=%s=%t", name, isOn)
	settings := c.settings(t)
	if !strings.Contains(settings, before) {
		t.Fatalf("no %s in kwok.yaml", before)
	}
	if err := os.WriteFile(c.settingsFile(), []byte(strings.ReplaceAll(settings, before, after)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// settingsFile is where kwokctl keeps with which arguments each component starts.
func (c *Cluster) settingsFile() string {
	return filepath.Join(c.dir, ".kwok", "clusters", "workbook", "kwok.yaml")
}

func (c *Cluster) settings(t testing.TB) string {
	t.Helper()
	return string(testkit.Must(os.ReadFile(c.settingsFile()))(t))
}

var etcdServer = regexp.MustCompile(`--etcd-servers=(https://\S+)`)

// Compact removes from etcd all history before its current revision, and returns that, which is a resourceVersion.
// A running API server doesn't notice for minutes: it answers watches, continue tokens and exact lists from a memory
// of its own. For a 410, stop and start it as well: it then remembers nothing, and asks etcd.
func (c *Cluster) Compact(t testing.TB) string {
	t.Helper()
	server := etcdServer.FindStringSubmatch(c.settings(t))
	if server == nil {
		t.Fatal("no --etcd-servers in kwok.yaml: kwok has changed its format, find etcd's port anew")
	}
	// The answer to any range has the revision; AA== is the key \0, which does not exist.
	answer := c.post(t, server[1]+"/v3/kv/range", `{"key":"AA=="}`)
	c.post(t, server[1]+"/v3/kv/compaction", fmt.Sprintf(`{"revision":%q,"physical":true}`, answer.Header.Revision))
	return answer.Header.Revision
}

type etcdAnswer struct {
	Header struct {
		Revision string `json:"revision"`
	} `json:"header"`
	Message string `json:"message"` // of an error
}

// post makes a request to etcd's JSON gateway, which it serves beside gRPC, with the cluster's own certificate.
func (c *Cluster) post(t testing.TB, url, body string) etcdAnswer {
	t.Helper()
	client := testkit.Must(rest.HTTPClientFor(c.Config()))(t)
	response := testkit.Must(client.Post(url, "application/json", strings.NewReader(body)))(t)
	defer response.Body.Close()
	var answer etcdAnswer
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("etcd answers %s to %s: %s", response.Status, body, answer.Message)
	}
	return answer
}

func (c *Cluster) command(shell string) *exec.Cmd {
	cmd := exec.Command("bash", "-c", shell)
	cmd.Dir = c.root
	cmd.Env = append(os.Environ(), "CLUSTER_DIR="+c.dir, "CLUSTER=local", "NODES=")
	return cmd
}

func (c *Cluster) script(t testing.TB, shell string) {
	t.Helper()
	if output, err := c.command(shell).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", shell, err, output)
	}
}
