package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/requestlog"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// session is a running chapter that gets its queries through a pipe.
type session struct {
	t        *testing.T
	requests requestlog.Log
	in       io.Writer
	out      *bufio.Scanner
	last     string // the last line of the last answer
}

func TestMain(m *testing.M) {
	testkit.Main(main)
	m.Run()
}

func newSession(t *testing.T, config *rest.Config, namespace string) *session {
	t.Helper()
	s := &session{t: t}
	config = rest.CopyConfig(config)
	config.Wrap(s.requests.Wrap)
	clientset := testkit.Must(kubernetes.NewForConfig(config))(t)
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, out := io.Pipe()
	s.in, s.out = stdin, bufio.NewScanner(stdout)
	o := options{
		selection: selection{namespace: namespace, labels: labels.Everything()},
		in:        in, limit: 100, requests: s.requests.Requests,
	}
	var group sync.WaitGroup
	group.Go(func() {
		if err := run(testkit.Context(t.Context(), t), clientset, o, program.NewPrinter(out)); err != nil {
			t.Error(err)
		}
		out.Close()
	})
	t.Cleanup(func() {
		stdin.Close()
		for s.out.Scan() {
		}
		group.Wait()
		in.Close()
	})
	return s
}

// ask returns the names that a query finds.
func (s *session) ask(query string) []string {
	s.t.Helper()
	if _, err := io.WriteString(s.in, query+"\n"); err != nil {
		s.t.Fatal(err)
	}
	names := []string{}
	for s.out.Scan() {
		word, text, _ := strings.Cut(s.out.Text(), " ")
		switch text = strings.TrimSpace(text); word {
		case "POD":
			names = append(names, text)
		case "FOUND":
			s.last = text
			return names
		}
	}
	s.t.Fatalf("%s: no answer", query)
	return nil
}

// await repeats the query until the answer is right: the cache follows the server a moment later.
func (s *session) await(query string, want ...string) {
	s.t.Helper()
	slices.Sort(want)
	var got []string
	testkit.Await(s.t, fmt.Sprintf("%s to find %q", query, want), func() bool {
		got = s.ask(query)
		return slices.Equal(got, want)
	}, &got)
}

// on puts a pod into a namespace and on a node, if one is given. When it is deleted, it disappears at once.
func on(pod *corev1.Pod, namespace, node string) *corev1.Pod {
	pod.Namespace = namespace
	pod.Spec.NodeName = node
	pod.Spec.TerminationGracePeriodSeconds = new(int64(0))
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Name = string(rune('a' + i))
	}
	return pod
}

func TestCacheAnswersAsTheServerWould(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	clientset := kubernetes.NewForConfigOrDie(config)
	pods := clientset.CoreV1().Pods(namespace)
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		testkit.Must(0, err)(t)
	}
	nodes, err := clientset.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	must(nil, err)
	node := nodes.Items[0].Name
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}
	owner, err := clientset.CoreV1().ConfigMaps(namespace).Create(ctx, configMap, metav1.CreateOptions{})
	must(nil, err)

	must(pods.Create(ctx, on(newPod("x/one image=nginx:1 image=envoy:2 app=web"), namespace, node), metav1.CreateOptions{}))
	two := on(newPod("x/two image=nginx:2 app=web tier=back"), namespace, "")
	two.Spec.SchedulerName = "nobody" // so that it stays pending
	two.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	must(pods.Create(ctx, two, metav1.CreateOptions{}))

	s := newSession(t, config, namespace)
	fromServer := func(options metav1.ListOptions) []string {
		t.Helper()
		list, err := pods.List(ctx, options)
		must(nil, err)
		names := []string{}
		for _, pod := range list.Items {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
		slices.Sort(names)
		return names
	}
	for query, options := range map[string]metav1.ListOptions{
		"namespace=" + namespace: {},
		"name=one":               {FieldSelector: "metadata.name=one"},
		"node=" + node:           {FieldSelector: "spec.nodeName=" + node},
		"label=app=web":          {LabelSelector: "app=web"},
		"label=!tier":            {LabelSelector: "!tier"},
		"label=tier=back and namespace=" + namespace: {LabelSelector: "tier=back"},
		"label=tier=none": {LabelSelector: "tier=none"},
	} {
		if diff := cmp.Diff(fromServer(options), s.ask(query)); diff != "" {
			t.Errorf("%s (-server +cache):\n%s", query, diff)
		}
	}
	// The server cannot answer these.
	one, other := namespace+"/one", namespace+"/two"
	for query, want := range map[string][]string{
		"image=nginx":                   {one, other},
		"image=nginx:1":                 {one},
		"image=nginx and image=envoy":   {one},
		"image=envoy or image=nginx:2":  {one, other},
		"owner=" + string(owner.UID):    {other},
		"image=nginx and label=app=job": {},
	} {
		if diff := cmp.Diff(want, s.ask(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}

	// Now the cache must follow.
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	must(nil, pods.Bind(ctx, binding, metav1.CreateOptions{}))
	s.await("node="+node, one, other)
	must(nil, pods.Delete(ctx, "one", metav1.DeleteOptions{}))
	s.await("node="+node, other)
	s.await("image=envoy")

	if want := "API requests: 0 for queries, 1 for the cache"; !strings.HasSuffix(s.last, want) {
		t.Errorf("the last answer ends in %q, want %q", s.last, want)
	}
}

func TestCacheAnswersWhileTheServerIsAway(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(namespace)
	create := func(name string) {
		t.Helper()
		pod := on(newPod("x/"+name+" image=nginx"), namespace, "")
		pod.Spec.SchedulerName = "nobody"
		testkit.Must(pods.Create(t.Context(), pod, metav1.CreateOptions{}))(t)
	}
	create("before")
	var cut netfault.Cutter
	broken := rest.CopyConfig(config)
	broken.Dial = cut.Dial
	s := newSession(t, broken, namespace)
	s.await("image=nginx", namespace+"/before")

	cut.Cut()
	create("meanwhile")
	if got, want := s.ask("image=nginx"), []string{namespace + "/before"}; !slices.Equal(got, want) {
		t.Errorf("without the server: got %q, want what it was like before: %q", got, want)
	}
	cut.Restore()
	s.await("image=nginx", namespace+"/before", namespace+"/meanwhile")
}

func TestForbiddenEndsTheProgram(t *testing.T) {
	config := testcluster.AsUser(testcluster.Config(t), "somebody")
	o := options{
		selection: selection{namespace: "default", labels: labels.Everything()},
		queries:   []string{"node=a"}, requests: func() int { return 0 },
	}
	err := run(t.Context(), kubernetes.NewForConfigOrDie(config), o, program.NewPrinter(io.Discard))
	if !apierrors.IsForbidden(err) {
		t.Errorf("run returned %v, want that it is forbidden", err)
	}
}

// TestProcess is about what only a process has: arguments, stdin, signals, an exit code.
func TestProcess(t *testing.T) {
	rejects := func(t *testing.T, args ...string) {
		t.Helper()
		stdout, stderr, code := testkit.Run(t, testkit.Program(t, args...))
		if code != 2 {
			t.Errorf("%q: exit code %d, want 2", args, code)
		}
		// The other line that there may be is the one about the cluster.
		var messages []string
		for line := range strings.Lines(stdout + stderr) {
			if !strings.HasPrefix(line, "context ") {
				messages = append(messages, line)
			}
		}
		if len(messages) != 1 || !strings.HasPrefix(messages[0], "03-lister: ") {
			t.Errorf("%q: printed %q, want one line that begins with the program's name", args, messages)
		}
	}

	t.Run("garbage in flags is one line and exit 2", func(t *testing.T) {
		for _, args := range [][]string{
			{"--nonsense"}, {"-l", "a in"}, {"--limit", "-1"}, {"--mutate=elsewhere"}, {"node=a"},
			{"--query", ""}, {"--query", "node=a adn image=b"}, {"--query", "node=a", "--query", "label=a in (b)"},
		} {
			rejects(t, args...)
		}
	})
	t.Run("an unknown namespace is one line and exit 2", func(t *testing.T) {
		rejects(t, "--kubeconfig", testcluster.Kubeconfig(t), "-n", "no-such-namespace", "--query", "node=a")
	})
	t.Run("queries come from stdin, and its end is the end", func(t *testing.T) {
		cmd := testkit.Program(t, "--kubeconfig", testcluster.Kubeconfig(t))
		cmd.Stdin = strings.NewReader("namespace=no-such-namespace\nnonsense\n")
		output, _, code := testkit.Run(t, cmd)
		if code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		for _, want := range []string{"FOUND      0 pod(s) by index", "QUERY      nonsense\n           ^^^^^^^^ expected key=value\n"} {
			if !strings.Contains(output, want) {
				t.Errorf("%q is not in the output:\n%s", want, output)
			}
		}
	})
	t.Run("SIGINT and SIGTERM end it with exit 0", func(t *testing.T) {
		kubeconfig := testcluster.Kubeconfig(t)
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			cmd := testkit.Program(t, "--kubeconfig", kubeconfig)
			if _, err := cmd.StdinPipe(); err != nil { // on which nothing ever arrives
				t.Fatal(err)
			}
			p := testkit.Start(t, cmd)
			p.Await(t, "^SYNCED ")
			p.Signal(t, signal)
			if code := p.Exit(t); code != 0 {
				t.Errorf("%s: exit code %d, want 0", signal, code)
			}
		}
	})
}
