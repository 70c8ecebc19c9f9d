package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// Each test has a namespace of its own. The articles' one was nginx: in what is printed, that takes the place of the name.

func TestFourthArticleOnServer(t *testing.T) {
	t.Parallel()
	namespace, pods := nginx(t)
	list := testkit.Must(pods.List(t.Context(), metav1.ListOptions{}))(t)
	watch := testkit.Must(pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion}))(t)
	defer watch.Stop()
	p := start(t, "--kubeconfig", testcluster.Kubeconfig(t), "-n", namespace)
	p.Await(t, "^Sync/Add/Update for Pod nginx-1$")
	patch := []byte(`{"metadata":{"annotations":{"a":"b"}}}`)
	testkit.Must(pods.Patch(t.Context(), "nginx-1", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	p.Await(t, "^update pod:  .*/nginx-1$")
	p.Await(t, "(?s)(^Sync.*){2}")
	events, syncs := printed(p, namespace)
	// The kubelet can write the status of a pod that has just become ready once more. So the changes are counted: up to the
	// pod's version now, which comes after all that was printed.
	now := testkit.Must(pods.Get(t.Context(), "nginx-1", metav1.GetOptions{}))(t).ResourceVersion
	changes := 1
	for event := range watch.ResultChan() {
		if event.Object.(*corev1.Pod).ResourceVersion == now {
			break
		}
		changes++
	}
	if len(events) < 2 || len(events) > 1+changes || len(syncs) < 2 || len(syncs) > len(events) {
		t.Errorf("after %d change(s): handlers %q, workers %q", changes, events, syncs)
	}

	if err := pods.Delete(t.Context(), "nginx-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.Await(t, "^Pod .* does not exist anymore$")
	// The kubelet writes the pod's status, too, most of all between the last two states. The article calls that "several
	// updates". How many there are, the kubelet decides; how many of them are synced depends on how fast they come.
	events, syncs = printed(p, namespace)
	updates := len(events) - 2
	wantEvents := []string{"add pod:  nginx/nginx-1", "update pod:  nginx/nginx-1", "delete pod:  nginx/nginx-1"}
	wantSyncs := []string{"Sync/Add/Update for Pod nginx-1", "Pod nginx/nginx-1 does not exist anymore"}
	if updates < 2 || !slices.Equal(slices.Compact(events), wantEvents) || !slices.Equal(slices.Compact(syncs), wantSyncs) {
		t.Errorf("%d updates, want at least 2, in:\n%s", updates, p.Out.String())
	}
}

func TestFirstArticleOnServer(t *testing.T) {
	t.Parallel()
	p := start(t, "--kubeconfig", testcluster.Kubeconfig(t), "-n", "default")
	p.Await(t, "^Pod default/mypod does not exist anymore$")
	if got := p.Out.String(); !strings.HasPrefix(got, "delete pod:  default/mypod\n") {
		t.Errorf("the first event is not that of the pod that only the store knows:\n%s", got)
	}
}

func TestDeletedWhileAway(t *testing.T) {
	t.Parallel()
	namespace, pods := nginx(t)
	p := start(t, "--kubeconfig", testcluster.Kubeconfig(t), "-n", namespace, "--cut-after", "1s", "--cut-for", "2s", "--cut-times", "1")
	p.Await(t, "^Sync/Add/Update for Pod nginx-1$")
	testkit.Await(t, "the cut", func() bool { return strings.Contains(p.Err.String(), "cut") })
	if err := pods.Delete(t.Context(), "nginx-1", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	p.Await(t, "^Pod .*/nginx-1 does not exist anymore$")
}

// Without permission to list pods, the program ends with the server's answer instead of waiting.
func TestForbidden(t *testing.T) {
	t.Parallel()
	config := testcluster.AsUser(testcluster.Config(t), "nobody")
	o := options{selection: selection{namespace: "default", labels: labels.Everything()}, workers: 1, drainFor: time.Second}
	if err := run(t.Context(), kubernetes.NewForConfigOrDie(config), o, program.NewPrinter(io.Discard)); !apierrors.IsForbidden(err) {
		t.Errorf("run = %v, want Forbidden", err)
	}
}

func TestBurstOnServer(t *testing.T) {
	t.Parallel()
	namespace, _ := nginx(t)
	p := start(t, "--kubeconfig", testcluster.Kubeconfig(t), "-n", namespace,
		"--workers", "4", "--sync-delay", "100ms", "--burst", "200", "--burst-key", namespace+"/nginx-1")
	line := p.Await(t, "^BURST .*$")
	report := regexp.MustCompile(`200 updates of .*/nginx-1 in (.*) led to (\d+) sync\(s\), never more than 1 at once`)
	match := report.FindStringSubmatch(line)
	if match == nil {
		t.Fatal(line)
	}
	var syncs int
	fmt.Sscan(match[2], &syncs)
	took, err := time.ParseDuration(match[1])
	if most := int(took/(100*time.Millisecond)) + 3; err != nil || syncs == 0 || syncs > most {
		t.Errorf("%s: that is not between 1 and %d syncs (%v)", line, most, err)
	}
	if updates := strings.Count(p.Out.String(), "update pod:  "+namespace+"/nginx-1\n"); updates < 200 {
		t.Errorf("the handler got %d updates, want 200", updates)
	}
	p.Signal(t, syscall.SIGTERM)
	if code := p.Exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// nginx creates a namespace with a running pod nginx-1.
func nginx(t *testing.T) (namespace string, pods typedcorev1.PodInterface) {
	t.Helper()
	config := testcluster.Config(t)
	namespace = testcluster.Namespace(t, config)
	pods = kubernetes.NewForConfigOrDie(config).CoreV1().Pods(namespace)
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "nginx-1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:1.28.0"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "pod nginx-1 to be ready", func() bool {
		pod := testkit.Must(pods.Get(t.Context(), "nginx-1", metav1.GetOptions{}))(t)
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	return namespace, pods
}

// printed returns what the handlers have printed, and what the workers have. The lines of each of them have an order.
func printed(p *testkit.Process, namespace string) (events, syncs []string) {
	for line := range strings.Lines(strings.ReplaceAll(p.Out.String(), namespace+"/", "nginx/")) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, " pod:  ") {
			events = append(events, line)
		} else {
			syncs = append(syncs, line)
		}
	}
	return events, syncs
}
