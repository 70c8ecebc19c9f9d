package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

func TestMain(m *testing.M) {
	testkit.Main(main)
	m.Run()
}

// awaitLine waits until a line begins with the words given, which are separated by any white space.
func awaitLine(t *testing.T, out *testkit.Buffer, words string) {
	t.Helper()
	out.Await(t, "^"+strings.Join(strings.Fields(regexp.QuoteMeta(words)), " +")+"([ ,]|$)")
}

// watchConfigMaps runs the watcher, through the dynamic client, on the ConfigMaps labelled test=yes.
func watchConfigMaps(t *testing.T, config *rest.Config, namespace string) *testkit.Buffer {
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
	awaitLine(t, out, "SYNCED")
	return out
}

// startWatcher runs the watcher until the test ends.
func startWatcher(t *testing.T, listWatch *cache.ListWatch) *testkit.Buffer {
	out := &testkit.Buffer{}
	w := watcher{listWatch: listWatch, pageSize: 500, out: program.NewPrinter(out)}
	ctx, cancel := context.WithCancel(testkit.Context(t.Context(), t))
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

// retryAtOnce makes the watcher retry almost at once, for tests that cut the connection often.
func retryAtOnce(t *testing.T) {
	before := firstDelay
	firstDelay.Duration = time.Millisecond
	t.Cleanup(func() { firstDelay = before })
}

func TestCutTwentyTimesPrintsEachEventOnce(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(namespace)
	retryAtOnce(t)
	var cut netfault.Cutter
	broken := rest.CopyConfig(config)
	broken.Dial = cut.Dial
	out := watchConfigMaps(t, broken, namespace)

	w := &writer{configMaps: configMaps}
	for range 20 {
		w.writeSome(t) // while the watch is open, so that the cut may fall between two events
		cut.Cut()
		w.writeSome(t) // while no watch is open
		cut.Restore()
		awaitLine(t, out, w.events[len(w.events)-1])
	}

	var got []string
	retries := 0
	for _, line := range out.Lines() {
		words := strings.Fields(line)
		switch words[0] {
		case "ADDED":
			got = append(got, strings.Join(words, " "))
		case "MODIFIED": // by whom depends on the name of the test's program
			text, _, _ := strings.Cut(strings.Join(words, " "), ", by ")
			got = append(got, text)
		case "DELETED":
			got = append(got, strings.Join(words[:2], " "))
		case "CLOSED", "RETRY":
			retries++
		}
	}
	if diff := cmp.Diff(w.events, got); diff != "" {
		t.Errorf("events (-written +printed):\n%s", diff)
	}
	if retries < 20 {
		t.Errorf("the watch was interrupted %d times, want 20: was the connection cut at all?", retries)
	}
}

// writer changes ConfigMaps and remembers the events that each change must cause.
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
		created := testkit.Must(w.configMaps.Create(ctx, configMap(name, "new"), metav1.CreateOptions{}))(t)
		updated := testkit.Must(w.configMaps.Update(ctx, configMap(name, "changed"), metav1.UpdateOptions{}))(t)
		path := created.Namespace + "/" + name
		w.events = append(w.events,
			"ADDED "+path+" resourceVersion "+created.ResourceVersion,
			"MODIFIED "+path+" resourceVersion "+updated.ResourceVersion+": data.value")
		if w.created%2 == 0 {
			if err := w.configMaps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			w.events = append(w.events, "DELETED "+path)
		}
	}
}

// TestEveryResource asks for each resource that the server has: it is listed, or the program says why not.
func TestEveryResource(t *testing.T) {
	config := testcluster.Config(t)
	lists := testkit.Must(discovery.NewDiscoveryClientForConfigOrDie(config).ServerPreferredResources())(t)
	refused := 0
	for _, list := range lists {
		version := testkit.Must(schema.ParseGroupVersion(list.GroupVersion))(t)
		if strings.HasSuffix(version.Group, ".exercise.coolops.cn") {
			continue // another test's, which removes it
		}
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") {
				continue
			}
			name := schema.GroupResource{Group: version.Group, Resource: resource.Name}.String()
			selected := selection{resource: name, labels: labels.Everything(), fields: fields.Everything()}
			listWatch, err := newListWatch(t.Context(), config, selected)
			if verbs := resource.Verbs; slices.Contains(verbs, "list") && slices.Contains(verbs, "watch") {
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				startWatcher(t, listWatch).Await(t, "^SYNCED ")
				continue
			}
			refused++
			want := name + " cannot be listed and watched, the verbs are: " + strings.Join(resource.Verbs, ", ") + ": choose from "
			if !errors.As(err, &program.UsageError{}) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", name, err, want)
			}
		}
	}
	if refused == 0 {
		t.Error("no resource was refused: bindings were")
	}
}

func TestServerFaults(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t)
	config := cluster.Config()
	configMaps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	must := func(_ any, err error) {
		t.Helper()
		testkit.Must(0, err)(t)
	}
	ctx := t.Context()
	for _, name := range []string{"kept", "changed", "deleted", "recreated"} {
		must(configMaps.Create(ctx, configMap(name, "new"), metav1.CreateOptions{}))
	}
	var cut netfault.Cutter
	broken := rest.CopyConfig(config)
	broken.Dial = cut.Dial
	out := watchConfigMaps(t, broken, "default")

	t.Run("etcd compacted under an open watch", func(t *testing.T) {
		cluster.Compact(t)
		must(configMaps.Create(ctx, configMap("after-compaction", "new"), metav1.CreateOptions{}))
		awaitLine(t, out, "ADDED default/after-compaction")
	})

	t.Run("etcd compacted and API server restarted during a cut", func(t *testing.T) {
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
			awaitLine(t, out, line)
		}
		for _, line := range out.Lines() {
			if strings.HasPrefix(line, "MISSED") && strings.Contains(line, "default/kept") {
				t.Errorf("nothing happened to default/kept, but it printed %q", line)
			}
		}
	})

	t.Run("API server away for three retries", func(t *testing.T) {
		before := len(out.Lines("RETRY"))
		cluster.StopAPIServer(t)
		testkit.Await(t, "three retries", func() bool { return len(out.Lines("RETRY")) >= before+3 })
		cluster.StartAPIServer(t)
		must(configMaps.Create(ctx, configMap("after-outage", "new"), metav1.CreateOptions{}))
		// As an event, or as something missed where the new API server does not know that resourceVersion.
		out.Await(t, "ADDED +default/after-outage")
	})
}

// TestProcess is about what only a process has: arguments, signals, an exit code.
func TestProcess(t *testing.T) {
	t.Parallel()
	t.Run("garbage in flags is one line and exit 2", func(t *testing.T) {
		t.Parallel()
		for _, args := range [][]string{
			{"--nonsense"}, {"-l", "a in"}, {"--field-selector", "x"}, {"--page-size", "-1"},
			{"--watch-timeout", "soon"}, {"--watch-timeout", "-1s"}, {"pods"},
		} {
			stdout, stderr, code := testkit.Run(t, testkit.Program(t, args...))
			if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%q: exit code %d, want 2, and printed %q, want one line", args, code, stdout+stderr)
			}
		}
	})

	t.Run("a resource or a namespace that is not there is one line more and exit 2", func(t *testing.T) {
		t.Parallel()
		kubeconfig := testcluster.Kubeconfig(t)
		for flag, want := range map[string]string{
			"--resource=":                    `--resource "" names no resource: write one such as pods`,
			"--resource=../pods":             `--resource "../pods" names no resource: write one such as pods`,
			"--resource=gadgets.example.com": `the server has no resource "gadgets.example.com"`,
			"--resource=componentstatuses":   `componentstatuses cannot be listed and watched, the verbs are: get, list`,
			"--namespace=nowhere":            `there is no namespace "nowhere"`,
		} {
			stdout, stderr, code := testkit.Run(t, testkit.Program(t, "--kubeconfig", kubeconfig, flag))
			// The first line is the greeting.
			if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, want) {
				t.Errorf("%s: exit code %d, want 2, and printed %q, want a line with %q", flag, code, stdout+stderr, want)
			}
		}
	})

	t.Run("a full disk is one line more and exit 1", func(t *testing.T) {
		t.Parallel()
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("needs /dev/full, which only Linux has; TestStdoutThatFails in internal/program runs everywhere")
		}
		defer full.Close()
		var stderr bytes.Buffer
		cmd := testkit.Program(t, "--kubeconfig", testcluster.Kubeconfig(t), "--duration", "10m")
		cmd.Stdout, cmd.Stderr = full, &stderr
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%v, want exit code 1", err)
		}
		got := stderr.String()
		if strings.Count(got, "\n") != 2 || !strings.Contains(got, "no space left on device: part of the output is lost") {
			t.Errorf("stderr %q, want the greeting and one line", got)
		}
	})

	t.Run("a closed pipe is a quiet end", func(t *testing.T) {
		t.Parallel()
		reader, closed, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		reader.Close()
		defer closed.Close()
		var stderr bytes.Buffer
		cmd := testkit.Program(t, "--kubeconfig", testcluster.Kubeconfig(t), "--duration", "10m")
		cmd.Stdout, cmd.Stderr = closed, &stderr
		if err := cmd.Run(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGPIPE {
			t.Errorf("%v, want an end by SIGPIPE", err)
		}
		checkSilent(t, "closed pipe", stderr.Bytes(), nil)
	})

	t.Run("--duration and SIGINT in the first requests are a silent exit 0", func(t *testing.T) {
		t.Parallel()
		kubeconfig := testcluster.Kubeconfig(t)
		for _, resource := range []string{"pods", "deploy"} {
			for after := time.Duration(1); after < 100*time.Millisecond; after = after*3/2 + time.Millisecond {
				cmd := testkit.Program(t, "--kubeconfig", kubeconfig, "-n", "default", "--resource", resource, "--duration", after.String())
				output, err := cmd.CombinedOutput()
				checkSilent(t, fmt.Sprintf("%s, --duration %s", resource, after), output, err)
			}
		}
		for range 10 {
			var stderr bytes.Buffer
			cmd := testkit.Program(t, "--kubeconfig", kubeconfig, "--namespace", "default", "--wire")
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
		t.Parallel()
		kubeconfig := testcluster.Kubeconfig(t)
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			p := testkit.Start(t, testkit.Program(t, "--kubeconfig", kubeconfig))
			p.Await(t, "^SYNCED ")
			p.Signal(t, signal)
			if code := p.Exit(t); code != 0 {
				t.Errorf("%s: exit code %d, want 0", signal, code)
			}
		}
	})
}

// checkSilent fails the test if a process has ended in an error, or printed an error.
func checkSilent(t *testing.T, what string, output []byte, err error) {
	t.Helper()
	if err != nil || strings.Contains(string(output), "01-listwatch: ") || strings.Contains(string(output), "RETRY") {
		t.Errorf("%s: %v, printed %q, want exit code 0 and no error", what, err, output)
	}
}
