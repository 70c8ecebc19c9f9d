package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

func TestMain(m *testing.M) {
	testkit.Main(main)
	m.Run()
}

func start(t *testing.T, args ...string) *testkit.Process {
	t.Helper()
	return testkit.Start(t, testkit.Program(t, args...))
}

// apiServer answers just enough for an informer of pods: which ones there are, and then nothing more. It returns a
// kubeconfig, and the number of requests.
func apiServer(t *testing.T, pods ...string) (kubeconfig string, requests *atomic.Int64) {
	t.Helper()
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
			answer.Encode(object{"kind": "Status", "apiVersion": "v1", "status": "Failure",
				"reason": "NotFound", "code": 404, "message": "not found"})
		}
	}))
	t.Cleanup(server.Close)
	return testkit.Kubeconfig(t, server.URL), requests
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	taken := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { taken.Close() })
	for name, test := range map[string]struct {
		args     []string
		complain string
	}{
		"no worker":           {[]string{"--workers", "0"}, "1 or more"},
		"negative workers":    {[]string{"--workers=-1"}, "1 or more"},
		"workers in words":    {[]string{"--workers", "two"}, "1 or more"},
		"selector":            {[]string{"-l", "app=nginx="}, "--selector"},
		"fail rate":           {[]string{"--fail-rate", "1.1"}, "from 0 to 1"},
		"fail rate no number": {[]string{"--fail-rate", "NaN"}, "from 0 to 1"},
		"key without a slash": {[]string{"--fail-key", "nginx-1"}, "NAMESPACE/NAME"},
		"key with two":        {[]string{"--burst-key", "a/b/c"}, "--burst-key"},
		"burst of nothing":    {[]string{"--burst", "0"}, "1 or more"},
		"port in use":         {[]string{"--listen", taken.Addr().String()}, "address already in use"},
		"port too big":        {[]string{"--listen", ":65536"}, "invalid port"},
		"duration":            {[]string{"--sync-delay", "5"}, "--sync-delay"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubeconfig, requests := apiServer(t)
			stdout, stderr, code := testkit.Run(t, testkit.Program(t, append(test.args, "--kubeconfig", kubeconfig)...))
			if code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.complain) {
				t.Errorf("stderr: %q, want one line with %q", stderr, test.complain)
			}
			if stdout != "" || requests.Load() > 0 {
				t.Errorf("it has begun, with %d requests, and printed %q", requests.Load(), stdout)
			}
		})
	}
}

func TestUnknownNamespace(t *testing.T) {
	t.Parallel()
	kubeconfig, _ := apiServer(t)
	stdout, stderr, code := testkit.Run(t, testkit.Program(t, "--kubeconfig", kubeconfig, "-n", "ngnix"))
	if code != 2 || !strings.Contains(stderr, `there is no namespace "ngnix"`) || stdout != "" {
		t.Errorf("exit code %d, printed %q, complained:\n%s", code, stdout, stderr)
	}
}

func TestUnknownBurstKey(t *testing.T) {
	t.Parallel()
	kubeconfig, _ := apiServer(t, "nginx-1")
	_, stderr, code := testkit.Run(t, testkit.Program(t, "--kubeconfig", kubeconfig, "--burst", "1", "--burst-key", "nginx/nginx-2"))
	if code != 2 || !strings.Contains(stderr, "there is no pod nginx/nginx-2") {
		t.Errorf("exit code %d, complained:\n%s", code, stderr)
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String()+" drains", func(t *testing.T) {
			t.Parallel()
			kubeconfig, _ := apiServer(t, "a", "b", "c", "failing")
			p := start(t, "--kubeconfig", kubeconfig, "-n", "nginx", "--sync-delay", "500ms", "--fail-key", "nginx/failing")
			p.Await(t, "^(Sync|RETRY).*$") // a streaming list comes in any order
			p.Signal(t, signal)
			if code := p.Exit(t); code != 0 {
				t.Errorf("exit code %d, want 0; complained:\n%s", code, p.Err.String())
			}
			got := p.Out.String()
			for _, want := range []string{
				"DRAIN      .*", "Sync/Add/Update for Pod a", "Sync/Add/Update for Pod b", "Sync/Add/Update for Pod c",
				"LEFT       nginx/failing is due for a retry\nDRAINED    all workers are done, after . sync\\(s\\)",
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

	t.Run("--drain limits the time", func(t *testing.T) {
		t.Parallel()
		kubeconfig, _ := apiServer(t, "a", "b", "c")
		p := start(t, "--kubeconfig", kubeconfig, "-n", "nginx", "--sync-delay", "1500ms", "--drain", "1ms")
		p.Await(t, "^Sync.*$")
		p.Signal(t, syscall.SIGTERM)
		code, want := p.Exit(t), regexp.MustCompile(`(Sync/Add/Update for Pod .\n)DRAIN .*\n(Sync/Add/Update for Pod .\n)`+
			`LEFT       nginx/. was queued\nDRAINED    all workers are done, after 2 sync\(s\)\n$`)
		if got := p.Out.String(); code != 0 || !want.MatchString(got) {
			t.Errorf("exit code %d, printed:\n%s", code, got)
		}
	})

	t.Run("the second kills", func(t *testing.T) {
		t.Parallel()
		kubeconfig, _ := apiServer(t, "a")
		p := start(t, "--kubeconfig", kubeconfig, "-n", "nginx", "--sync-delay", "1h", "--listen", "127.0.0.1:0")
		testkit.Await(t, "the worker to take the key", func() bool {
			return bytes.Contains(metrics(t, p), []byte("\nworkqueue_queue_duration_seconds_count{name=\"pods\"} 1\n"))
		})
		p.Signal(t, syscall.SIGTERM)
		p.Await(t, "^DRAIN ")
		testkit.Await(t, "the program's end", func() bool {
			// More than one, as the program may still be about to let go of the first.
			_ = p.Process.Signal(syscall.SIGTERM) // fails if the program has ended
			select {
			case <-p.Ended():
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

func TestMetrics(t *testing.T) {
	t.Parallel()
	kubeconfig, _ := apiServer(t, "a", "b")
	p := start(t, "--kubeconfig", kubeconfig, "-n", "nginx", "--listen", "127.0.0.1:0", "--fail-key", "nginx/a")
	p.Await(t, "^DROPPED ")
	body := metrics(t, p)
	for _, want := range []string{
		`workqueue_adds_total{name="pods"} 7`, `workqueue_retries_total{name="pods"} 5`, `workqueue_depth{name="pods"} 0`,
		`workqueue_queue_duration_seconds_count{name="pods"} 7`, `workqueue_work_duration_seconds_count{name="pods"}`,
		`workqueue_unfinished_work_seconds{name="pods"}`, `workqueue_longest_running_processor_seconds{name="pods"}`,
	} {
		if !bytes.Contains(body, []byte("\n"+want)) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	p.Signal(t, syscall.SIGTERM)
	if code := p.Exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// metrics returns what a program with --listen serves at /metrics.
func metrics(t *testing.T, p *testkit.Process) []byte {
	t.Helper()
	address := strings.Fields(p.Await(t, `^LISTENING  http://.*$`))[1]
	response := testkit.Must(http.Get(address + "/metrics"))(t)
	defer response.Body.Close()
	return testkit.Must(io.ReadAll(response.Body))(t)
}
