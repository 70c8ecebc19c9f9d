package testcluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// fakeTB records how a test would have ended.
type fakeTB struct {
	testing.TB
	end string
}

func (f *fakeTB) Helper()           {}
func (f *fakeTB) Skip(args ...any)  { f.ended("skip: ", args) }
func (f *fakeTB) Fatal(args ...any) { f.ended("fail: ", args) }

// ended keeps the first end: a real Skip or Fatal does not return.
func (f *fakeTB) ended(how string, args []any) {
	if f.end == "" {
		f.end = how + fmt.Sprint(args...)
	}
}

func TestWithoutClusterTestsSkipUnlessOneIsRequired(t *testing.T) {
	t.Setenv("REQUIRE_CLUSTER", "")
	skipped := &fakeTB{}
	unavailable(skipped, errNoCluster)
	if want := "skip: no cluster: `make cluster` starts one"; skipped.end != want {
		t.Errorf("got %q, want %q", skipped.end, want)
	}

	t.Setenv("REQUIRE_CLUSTER", "1")
	failed := &fakeTB{}
	unavailable(failed, errNoCluster)
	if want := "fail: no cluster: `make cluster` starts one"; failed.end != want {
		t.Errorf("got %q, want %q", failed.end, want)
	}
}

// writeKubeconfig writes a kubeconfig with one context to path, for a server at url.
func writeKubeconfig(t *testing.T, path, context, url string) {
	t.Helper()
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: %s, context: {cluster: c}}]
`, url, context)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"gitVersion":"v1.37.1"}`)
	}))
	defer server.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()

	home, work := t.TempDir(), t.TempDir()
	t.Setenv("REQUIRE_CLUSTER", "") // or it waits a minute for the server that hangs
	t.Setenv("HOME", home)
	t.Setenv("CLUSTER_DIR", "")
	t.Setenv("KUBECONFIG", filepath.Join(home, "other"))
	t.Chdir(work)
	writeKubeconfig(t, filepath.Join(home, ".kube", "config"), "workbook", server.URL)
	writeKubeconfig(t, filepath.Join(home, "other"), "workbook", server.URL)

	if _, err := find(); err != errNoCluster {
		t.Errorf("with nothing but ~/.kube/config and $KUBECONFIG: got %v, want no cluster", err)
	}

	setContext := func(name string) {
		*contextFlag = name
		t.Cleanup(func() { *contextFlag = "" })
	}
	setContext("workbook")
	if _, err := find(); err != nil {
		t.Errorf("with $KUBECONFIG and -context: %v", err)
	}
	setContext("production")
	if _, err := find(); err == nil || !strings.Contains(err.Error(), `no context "production"`) {
		t.Errorf("with a context that does not exist: got %v", err)
	}
	setContext("")

	writeKubeconfig(t, filepath.Join(work, ".cluster", "kubeconfig"), "workbook", server.URL)
	below := filepath.Join(work, "01-listwatch", "exercises")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	if _, err := find(); err != nil {
		t.Errorf("with .cluster in a folder above: %v", err)
	}

	t.Setenv("CLUSTER_DIR", t.TempDir())
	if _, err := find(); err != errNoCluster {
		t.Errorf("with an empty CLUSTER_DIR: got %v, want no cluster", err)
	}
	writeKubeconfig(t, filepath.Join(os.Getenv("CLUSTER_DIR"), "type"), "workbook", silent.URL) // it has one
	writeKubeconfig(t, filepath.Join(os.Getenv("CLUSTER_DIR"), "kubeconfig"), "workbook", silent.URL)
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "doesn't answer") {
		t.Errorf("with a server that hangs: got %v", err)
	}
}

func TestNamePrefix(t *testing.T) {
	for _, test := range []string{"TestX", "TestWatch/survives_20_cuts", "Test/Ünïcode #01", strings.Repeat("Long", 40), "///"} {
		prefix := namePrefix(test)
		if problems := validation.IsDNS1123Label(prefix + "x7k2p"); len(problems) > 0 {
			t.Errorf("namePrefix(%q) = %q: %s", test, prefix, problems)
		}
	}
	if got, want := namePrefix("TestWatch/survives_20_cuts"), "t-testwatch-survives-20-cuts-"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAsUserLeavesTheOriginalAlone(t *testing.T) {
	config := &rest.Config{Host: "https://127.0.0.1"}
	if got := AsUser(config, "alice").Impersonate.UserName; got != "alice" {
		t.Errorf("impersonates %q, want alice", got)
	}
	if config.Impersonate.UserName != "" {
		t.Error("the original impersonates too")
	}
}

func TestNamespaceIsReadyForPodsAndClosedToStrangers(t *testing.T) {
	config := Config(t)
	name := Namespace(t, config)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "nginx-1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx"}}},
	}
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(name).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Errorf("creating a pod at once: %v", err)
	}

	stranger := kubernetes.NewForConfigOrDie(AsUser(config, "stranger"))
	if _, err := stranger.CoreV1().Pods(name).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing pods as a stranger: got %v, want forbidden", err)
	}
}

func TestKubeconfigLeadsToTheSameCluster(t *testing.T) {
	config, err := clientcmd.BuildConfigFromFlags("", Kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := Config(t); config.Host != want.Host {
		t.Errorf("server %s, want %s", config.Host, want.Host)
	}
	if _, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerVersion(); err != nil {
		t.Error(err)
	}
}

// TestLeadsToACluster has a subtest for each function that leads to a cluster, or to what this folder runs.
func TestLeadsToACluster(t *testing.T) {
	t.Run("Config", func(t *testing.T) { Config(t) })
	t.Run("Root", func(t *testing.T) { Root(t) })
}

// go runs a package's tests anew if a variable has changed that a test has read: it is in the log that go asks for.
func TestWhatLeadsToAClusterRunsAnew(t *testing.T) {
	for _, name := range []string{"Config", "Root"} {
		log := filepath.Join(t.TempDir(), "log")
		// It skips without a cluster: go would repeat that, too.
		output, err := exec.Command(os.Args[0], "-test.run=^TestLeadsToACluster$/^"+name+"$", "-test.testlogfile="+log).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		if read, err := os.ReadFile(log); err != nil || !strings.Contains(string(read), "getenv WORKBOOK_RUN\n") {
			t.Errorf("%s does not read the run's name (%v)", name, err)
		}
	}
}
