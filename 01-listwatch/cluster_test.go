package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/cutter"
	"example.com/client-go-workbook/internal/testcluster"
)

// output is what a watcher has printed so far.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Split(strings.TrimSuffix(o.buffer.String(), "\n"), "\n")
}

// await waits until a line begins with the words given, which are separated by any white space.
func (o *output) await(t *testing.T, words string) {
	t.Helper()
	await(t, fmt.Sprintf("line %q", words), func() bool {
		return slices.ContainsFunc(o.lines(), func(line string) bool {
			return strings.HasPrefix(strings.Join(strings.Fields(line), " ")+" ", words+" ")
		})
	})
	if t.Failed() {
		t.Logf("printed:\n%s", strings.Join(o.lines(), "\n"))
	}
}

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Errorf("waiting for %s: %v", what, err)
	}
}

// watchConfigMaps runs the watcher, through the dynamic client, on the ConfigMaps labelled test=yes.
func watchConfigMaps(t *testing.T, config *rest.Config, namespace string) *output {
	listWatch, err := newListWatch(t.Context(), config, selection{
		resource:  "configmaps",
		namespace: namespace,
		labels:    labels.SelectorFromSet(labels.Set{"test": "yes"}),
		fields:    fields.Everything(),
	})
	if err != nil {
		t.Fatal(err)
	}
	out := startWatcher(t, listWatch)
	out.await(t, "SYNCED")
	return out
}

// startWatcher runs the watcher until the test ends.
func startWatcher(t *testing.T, listWatch *cache.ListWatch) *output {
	out := &output{}
	w := watcher{listWatch: listWatch, pageSize: 500, out: out}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := w.run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return out
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"test": "yes"}},
		Data:       map[string]string{"value": value},
	}
}

// impatient makes the watcher try again almost at once, for tests that cut the connection often.
func impatient(t *testing.T) {
	before := firstDelay
	firstDelay.Duration = time.Millisecond
	t.Cleanup(func() { firstDelay = before })
}

func TestCutTwentyTimesPrintsEachEventOnce(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(namespace)
	impatient(t)
	var cut cutter.Cutter
	broken := rest.CopyConfig(config)
	broken.Dial = cut.Dial
	out := watchConfigMaps(t, broken, namespace)

	w := &writer{configMaps: configMaps}
	for range 20 {
		w.writeSome(t) // while the watch is open, so that the cut may fall between two events
		cut.Cut()
		w.writeSome(t) // while nobody watches
		cut.Restore()
		out.await(t, w.events[len(w.events)-1])
	}

	var got []string
	retries := 0
	for _, line := range out.lines() {
		words := strings.Fields(line)
		switch words[0] {
		case "ADDED", "MODIFIED":
			got = append(got, strings.Join(words[:4], " "))
		case "DELETED":
			got = append(got, strings.Join(words[:2], " "))
		case "CLOSED", "RETRY":
			retries++
		}
	}
	if diff := cmp.Diff(w.events, got); diff != "" {
		t.Errorf("events (-made +printed):\n%s", diff)
	}
	if retries < 20 {
		t.Errorf("the watch was interrupted %d times, want 20: was the connection cut at all?", retries)
	}
}

// writer changes ConfigMaps and remembers the events that each change must make.
type writer struct {
	configMaps typedcorev1.ConfigMapInterface
	created    int
	events     []string
}

// writeSome creates two objects, changes both, and deletes one.
func (w *writer) writeSome(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for range 2 {
		w.created++
		name := fmt.Sprintf("c%d", w.created)
		created, err := w.configMaps.Create(ctx, configMap(name, "new"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		updated, err := w.configMaps.Update(ctx, configMap(name, "changed"), metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		path := created.Namespace + "/" + name
		w.events = append(w.events,
			"ADDED "+path+" resourceVersion "+created.ResourceVersion,
			"MODIFIED "+path+" resourceVersion "+updated.ResourceVersion)
		if w.created%2 == 0 {
			if err := w.configMaps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			w.events = append(w.events, "DELETED "+path)
		}
	}
}

func TestServerFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	cluster := testcluster.Start(t)
	config := cluster.Config()
	configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	for _, name := range []string{"kept", "changed", "deleted", "recreated"} {
		must(configMaps.Create(ctx, configMap(name, "new"), metav1.CreateOptions{}))
	}
	var cut cutter.Cutter
	broken := rest.CopyConfig(config)
	broken.Dial = cut.Dial
	out := watchConfigMaps(t, broken, "default")

	t.Run("etcd compacted under an open watch", func(t *testing.T) {
		cluster.Compact(t)
		must(configMaps.Create(ctx, configMap("after-compaction", "new"), metav1.CreateOptions{}))
		out.await(t, "ADDED default/after-compaction")
	})

	t.Run("etcd compacted and API server restarted while away", func(t *testing.T) {
		cut.Cut()
		must(configMaps.Update(ctx, configMap("changed", "changed"), metav1.UpdateOptions{}))
		must(nil, configMaps.Delete(ctx, "deleted", metav1.DeleteOptions{}))
		must(nil, configMaps.Delete(ctx, "recreated", metav1.DeleteOptions{}))
		must(configMaps.Create(ctx, configMap("recreated", "new"), metav1.CreateOptions{}))
		cluster.Compact(t)
		cluster.StopAPIServer(t)
		cluster.StartAPIServer(t)
		cut.Restore()
		for _, line := range []string{
			"EXPIRED",
			"MISSED DELETED default/deleted",
			"MISSED DELETED default/recreated",
			"MISSED ADDED default/recreated",
			"MISSED MODIFIED default/changed",
		} {
			out.await(t, line)
		}
		for _, line := range out.lines() {
			if strings.HasPrefix(line, "MISSED") && strings.Contains(line, "default/kept") {
				t.Errorf("nothing happened to default/kept, but it printed %q", line)
			}
		}
	})

	t.Run("API server away for 30 seconds", func(t *testing.T) {
		cluster.StopAPIServer(t)
		stopped := time.Now()
		out.await(t, "RETRY")
		await(t, "30 seconds to pass", func() bool { return time.Since(stopped) > 30*time.Second })
		cluster.StartAPIServer(t)
		must(configMaps.Create(ctx, configMap("after-outage", "new"), metav1.CreateOptions{}))
		// As an event, or as something missed where the new API server does not know our version.
		await(t, "default/after-outage", func() bool {
			return strings.Contains(strings.Join(out.lines(), "\n"), "ADDED default/after-outage") ||
				strings.Contains(strings.Join(out.lines(), "\n"), "ADDED      default/after-outage")
		})
	})
}

// TestProcess is about what only a process has: arguments, signals, an exit code.
func TestProcess(t *testing.T) {
	program := filepath.Join(t.TempDir(), "listwatch")
	if output, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}

	t.Run("garbage in flags is one line and exit 2", func(t *testing.T) {
		for _, args := range [][]string{
			{"--nonsense"}, {"-l", "a in"}, {"--field-selector", "x"}, {"--page-size", "-1"}, {"--watch-timeout", "soon"}, {"--watch-timeout", "-1s"}, {"pods"},
		} {
			output, err := exec.Command(program, args...).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("%q: %v, want exit code 2", args, err)
			}
			if lines := strings.Count(string(output), "\n"); lines != 1 {
				t.Errorf("%q: %d lines, want one:\n%s", args, lines, output)
			}
		}
	})

	t.Run("a resource or a namespace that is not there is one line more and exit 2", func(t *testing.T) {
		kubeconfig := testcluster.Kubeconfig(t)
		for flag, want := range map[string]string{
			"--resource=":                    `--resource "" names no resource: write one such as pods`,
			"--resource=../pods":             `--resource "../pods" names no resource: write one such as pods`,
			"--resource=gadgets.example.com": `the server has no resource "gadgets.example.com"`,
			"--namespace=nowhere":            `there is no namespace "nowhere"`,
		} {
			output, err := exec.Command(program, "--kubeconfig", kubeconfig, flag).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("%s: %v, want exit code 2", flag, err)
			}
			// The first line is the greeting.
			if lines := strings.Count(string(output), "\n"); lines != 2 || !strings.Contains(string(output), want) {
				t.Errorf("%s: printed %q, want a line with %q", flag, output, want)
			}
		}
	})

	t.Run("a full disk is one line more and exit 1", func(t *testing.T) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("needs /dev/full, which only Linux has; TestStdoutThatFails in internal/program runs everywhere")
		}
		defer full.Close()
		var stderr bytes.Buffer
		cmd := exec.Command(program, "--kubeconfig", testcluster.Kubeconfig(t), "--duration", "10m")
		cmd.Stdout, cmd.Stderr = full, &stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%v, want exit code 1", err)
		}
		if got := stderr.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "no space left on device: part of the output is lost") {
			t.Errorf("stderr %q, want the greeting and one line", got)
		}
	})

	t.Run("a closed pipe is a quiet end", func(t *testing.T) {
		reader, closed, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		reader.Close()
		defer closed.Close()
		var stderr bytes.Buffer
		cmd := exec.Command(program, "--kubeconfig", testcluster.Kubeconfig(t), "--duration", "10m")
		cmd.Stdout, cmd.Stderr = closed, &stderr
		if err := cmd.Run(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGPIPE {
			t.Errorf("%v, want an end by SIGPIPE", err)
		}
		checkSilent(t, "closed pipe", stderr.Bytes(), nil)
	})

	t.Run("--duration and SIGINT in the first requests are a silent exit 0", func(t *testing.T) {
		kubeconfig := testcluster.Kubeconfig(t)
		for _, resource := range []string{"pods", "deploy"} {
			for after := time.Duration(1); after < 100*time.Millisecond; after = after*3/2 + time.Millisecond {
				output, err := exec.Command(program, "--kubeconfig", kubeconfig, "--namespace", "default", "--resource", resource, "--duration", after.String()).CombinedOutput()
				checkSilent(t, fmt.Sprintf("%s, --duration %s", resource, after), output, err)
			}
		}
		for range 10 {
			var stderr bytes.Buffer
			cmd := exec.Command(program, "--kubeconfig", kubeconfig, "--namespace", "default", "--wire")
			cmd.Stderr = &stderr
			stdout, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			_, _ = stdout.Read(make([]byte, 1)) // of the line that a request has begun
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, stdout)
			err = cmd.Wait() // stderr is complete only then
			checkSilent(t, "SIGINT", stderr.Bytes(), err)
		}
	})

	t.Run("SIGINT and SIGTERM end it with exit 0", func(t *testing.T) {
		kubeconfig := testcluster.Kubeconfig(t)
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			out := &output{}
			cmd := exec.Command(program, "--kubeconfig", kubeconfig)
			cmd.Stdout = out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			out.await(t, "SYNCED")
			start := time.Now()
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v, want exit code 0", signal, err)
			}
			t.Logf("%s: exit after %s", signal, time.Since(start))
		}
	})
}

// checkSilent fails the test if a process has ended in an error, or printed a complaint.
func checkSilent(t *testing.T, what string, output []byte, err error) {
	t.Helper()
	if err != nil || strings.Contains(string(output), "listwatch: ") || strings.Contains(string(output), "RETRY") {
		t.Errorf("%s: %v, printed %q, want exit code 0 and no complaint", what, err, output)
	}
}
