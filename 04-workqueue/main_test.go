package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestMain lets the test binary be the chapter's program, for the tests that need a process to send signals to.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_CHAPTER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is the chapter's program, running.
type process struct {
	*exec.Cmd
	stdout, stderr output
	ended          chan struct{}
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.Command(self, args...), ended: make(chan struct{})}
	p.Env = append(os.Environ(), "RUN_CHAPTER=1", "KUBECONFIG=")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.Process.Kill()
		<-p.ended
	})
	return p
}

// await waits until the program has printed what matches the pattern, and returns the match.
func (p *process) await(t *testing.T, pattern string) string {
	t.Helper()
	var match string
	await(t, fmt.Sprintf("%q", pattern), func() bool {
		match = regexp.MustCompile(`(?m)` + pattern).FindString(p.stdout.String())
		return match != ""
	})
	if t.Failed() {
		t.Fatalf("printed:\n%s%s", p.stdout.String(), p.stderr.String())
	}
	return match
}

// exit waits until the program has ended, and returns its exit code: -1 after a signal.
func (p *process) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		t.Fatalf("the program does not end; printed:\n%s%s", p.stdout.String(), p.stderr.String())
	}
	return p.ProcessState.ExitCode()
}

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Errorf("waited 30 s for %s", what)
			return
		}
	}
}

// apiServer says just enough for an informer of pods: which ones there are, and then nothing more. It returns a
// kubeconfig, and the number of requests.
func apiServer(t *testing.T, pods ...string) (kubeconfig string, requests *atomic.Int64) {
	requests = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		answer := json.NewEncoder(w)
		type object = map[string]any
		switch {
		case r.URL.Path == "/version":
			answer.Encode(object{"gitVersion": "v1.37.0"})
		case r.URL.Path == "/api/v1/namespaces/nginx":
			answer.Encode(object{"kind": "Namespace", "apiVersion": "v1", "metadata": object{"name": "nginx"}})
		case strings.HasSuffix(r.URL.Path, "/pods") && r.URL.Query().Get("sendInitialEvents") == "true":
			for i, name := range pods {
				metadata := object{"namespace": "nginx", "name": name, "resourceVersion": fmt.Sprint(i + 1)}
				answer.Encode(object{"type": "ADDED", "object": object{"kind": "Pod", "apiVersion": "v1", "metadata": metadata}})
			}
			metadata := object{"resourceVersion": "100", "annotations": object{"k8s.io/initial-events-end": "true"}}
			answer.Encode(object{"type": "BOOKMARK", "object": object{"kind": "Pod", "apiVersion": "v1", "metadata": metadata}})
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusNotFound)
			answer.Encode(object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found"})
		}
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig, requests
}

func TestWrongUsage(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, test := range map[string]struct {
		args     []string
		complain string
	}{
		"no worker":            {[]string{"--workers", "0"}, "1 or more"},
		"negative workers":     {[]string{"--workers=-1"}, "1 or more"},
		"workers in words":     {[]string{"--workers", "two"}, "1 or more"},
		"selector":             {[]string{"-l", "app=nginx="}, "--selector"},
		"fail rate":            {[]string{"--fail-rate", "1.1"}, "from 0 to 1"},
		"fail rate no number":  {[]string{"--fail-rate", "NaN"}, "from 0 to 1"},
		"key without a slash":  {[]string{"--fail-key", "nginx-1"}, "NAMESPACE/NAME"},
		"key with two":         {[]string{"--burst-key", "a/b/c"}, "--burst-key"},
		"burst of nothing":     {[]string{"--burst", "0"}, "1 or more"},
		"metrics port in use":  {[]string{"--metrics", taken.Addr().String()}, "address already in use"},
		"metrics port too big": {[]string{"--metrics", ":65536"}, "invalid port"},
		"duration":             {[]string{"--work", "5"}, "--work"},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig, requests := apiServer(t)
			p := start(t, append(test.args, "--kubeconfig", kubeconfig)...)
			if code := p.exit(t); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if got := p.stderr.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, test.complain) {
				t.Errorf("stderr: %q, want one line with %q", got, test.complain)
			}
			if got := p.stdout.String(); got != "" || requests.Load() > 0 {
				t.Errorf("it has begun, with %d requests, and printed %q", requests.Load(), got)
			}
		})
	}
}

func TestUnknownNamespace(t *testing.T) {
	kubeconfig, _ := apiServer(t)
	p := start(t, "--kubeconfig", kubeconfig, "-n", "ngnix")
	if code := p.exit(t); code != 2 || !strings.Contains(p.stderr.String(), `there is no namespace "ngnix"`) || p.stdout.String() != "" {
		t.Errorf("exit code %d, printed %q, complained:\n%s", code, p.stdout.String(), p.stderr.String())
	}
}

func TestUnknownBurstKey(t *testing.T) {
	kubeconfig, _ := apiServer(t, "nginx-1")
	p := start(t, "--kubeconfig", kubeconfig, "--burst", "1", "--burst-key", "nginx/nginx-2")
	if code := p.exit(t); code != 2 || !strings.Contains(p.stderr.String(), "there is no pod nginx/nginx-2") {
		t.Errorf("exit code %d, complained:\n%s", code, p.stderr.String())
	}
}

func TestSignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String()+" drains", func(t *testing.T) {
			kubeconfig, _ := apiServer(t, "a", "b", "c", "failing")
			p := start(t, "--kubeconfig", kubeconfig, "-n", "nginx", "--work", "500ms", "--fail-key", "nginx/failing")
			p.await(t, "^(Sync|RETRY).*$") // a streaming list comes in any order
			if err := p.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if code := p.exit(t); code != 0 {
				t.Errorf("exit code %d, want 0; complained:\n%s", code, p.stderr.String())
			}
			got := p.stdout.String()
			for _, want := range []string{
				"DRAIN      .*", "Sync/Add/Update for Pod a", "Sync/Add/Update for Pod b", "Sync/Add/Update for Pod c",
				"LEFT       nginx/failing is due for attempt .\nDRAINED    all workers are done",
			} {
				if !regexp.MustCompile("(?m)^" + want + "$").MatchString(got) {
					t.Errorf("not printed: %q", want)
				}
			}
			if t.Failed() {
				t.Logf("printed:\n%s", got)
			}
		})
	}

	t.Run("--drain ends the patience", func(t *testing.T) {
		kubeconfig, _ := apiServer(t, "a", "b", "c")
		p := start(t, "--kubeconfig", kubeconfig, "-n", "nginx", "--work", "1500ms", "--drain", "1ms")
		p.await(t, "^Sync.*$")
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		code, want := p.exit(t), regexp.MustCompile(`(Sync/Add/Update for Pod .\n)DRAIN .*\n(Sync/Add/Update for Pod .\n)LEFT       nginx/. was queued\nDRAINED    all workers are done\n$`)
		if got := p.stdout.String(); code != 0 || !want.MatchString(got) {
			t.Errorf("exit code %d, printed:\n%s", code, got)
		}
	})

	t.Run("the second kills", func(t *testing.T) {
		kubeconfig, _ := apiServer(t, "a")
		p := start(t, "--kubeconfig", kubeconfig, "-n", "nginx", "--work", "1h")
		p.await(t, "^add pod:  nginx/a\n")
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.await(t, "^DRAIN ")
		await(t, "the program's end", func() bool {
			// More than one, as the program may still be about to let go of the first.
			p.Process.Signal(syscall.SIGTERM)
			select {
			case <-p.ended:
				return true
			default:
				return false
			}
		})
		status, ok := p.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || status.Signal() != syscall.SIGTERM {
			t.Errorf("ended with %v, want killed by SIGTERM", p.ProcessState)
		}
	})
}

func TestMetricsEndpoint(t *testing.T) {
	kubeconfig, _ := apiServer(t, "a", "b")
	p := start(t, "--kubeconfig", kubeconfig, "-n", "nginx", "--metrics", "127.0.0.1:0", "--fail-key", "nginx/a")
	p.await(t, "^DROPPED ")
	address := strings.Fields(p.await(t, `^METRICS    http://.*/metrics$`))[1]
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`workqueue_adds_total{name="pods"} 7`, `workqueue_retries_total{name="pods"} 5`, `workqueue_depth{name="pods"} 0`,
		`workqueue_queue_duration_seconds_count{name="pods"} 7`, `workqueue_work_duration_seconds_count{name="pods"}`,
		`workqueue_unfinished_work_seconds{name="pods"}`, `workqueue_longest_running_processor_seconds{name="pods"}`,
	} {
		if !bytes.Contains(body, []byte("\n"+want)) {
			t.Errorf("%s does not say %s", address, want)
		}
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	p.await(t, `^METRICS    7 adds, 5 retries, 0 queued; a key waited .* and was in work for .*, on average$`)
}
