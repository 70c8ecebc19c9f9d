package main

import (
	"fmt"
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
	"example.com/client-go-workbook/internal/testcluster"
)

// Each test has a namespace of its own. Where the articles' one was nginx, its name is replaced in what is printed.

func TestFourthArticleOnServer(t *testing.T) {
	namespace, pods := nginx(t)
	p := start(t, "--kubeconfig", testcluster.Kubeconfig(t), "-n", namespace)
	p.await(t, "^Sync/Add/Update for Pod nginx-1$")
	checkLines(t, p, namespace, "1. at the start", []string{"add pod:  nginx/nginx-1"}, []string{"Sync/Add/Update for Pod nginx-1"})

	if _, err := pods.Patch(t.Context(), "nginx-1", types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	p.await(t, "(?s)(^Sync.*){2}")
	checkLines(t, p, namespace, "2. with an annotation", []string{"add pod:  nginx/nginx-1", "update pod:  nginx/nginx-1"},
		[]string{"Sync/Add/Update for Pod nginx-1", "Sync/Add/Update for Pod nginx-1"})

	if err := pods.Delete(t.Context(), "nginx-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.await(t, "^Pod .* does not exist anymore$")
	// Between the two states the server has some more, and the article calls them "several updates": how many
	// is up to the kubelet. How many of them are synced is up to how fast they come.
	events, syncs := printed(p, namespace)
	updates := 0
	for len(events) > 3 && events[2] == "update pod:  nginx/nginx-1" {
		events = slices.Delete(events, 2, 3)
		updates++
	}
	for len(syncs) > 3 && syncs[2] == "Sync/Add/Update for Pod nginx-1" {
		syncs = slices.Delete(syncs, 2, 3)
	}
	wantEvents := []string{"add pod:  nginx/nginx-1", "update pod:  nginx/nginx-1", "delete pod:  nginx/nginx-1"}
	wantSyncs := []string{"Sync/Add/Update for Pod nginx-1", "Sync/Add/Update for Pod nginx-1", "Pod nginx/nginx-1 does not exist anymore"}
	if updates == 0 || !slices.Equal(events, wantEvents) || !slices.Equal(syncs, wantSyncs) {
		t.Errorf("3. deleted: %d updates on the way, handlers %q, workers %q", updates, events, syncs)
	}
}

func TestFirstArticleOnServer(t *testing.T) {
	p := start(t, "--kubeconfig", testcluster.Kubeconfig(t), "-n", "default")
	p.await(t, "^Pod default/mypod does not exist anymore$")
	if got := p.stdout.String(); !strings.HasPrefix(got, "delete pod:  default/mypod\n") {
		t.Errorf("the pod that only the store knew is not the first thing told of:\n%s", got)
	}
}

func TestDeletedWhileAway(t *testing.T) {
	namespace, pods := nginx(t)
	p := start(t, "--kubeconfig", testcluster.Kubeconfig(t), "-n", namespace, "--cut-after", "2s", "--cut-for", "4s", "--cut-times", "1")
	p.await(t, "^Sync/Add/Update for Pod nginx-1$")
	await(t, "the cut", func() bool { return strings.Contains(p.stderr.String(), "cut") })
	if err := pods.Delete(t.Context(), "nginx-1", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	p.await(t, "^Pod .*/nginx-1 does not exist anymore$")
}

// A user who may not list pods gets an answer instead of an endless wait.
func TestForbidden(t *testing.T) {
	config := testcluster.Config(t)
	clientset := kubernetes.NewForConfigOrDie(testcluster.AsUser(config, "nobody"))
	c := chapter{selection: selection{namespace: "default", labels: labels.Everything()}, out: program.NewPrinter(&output{}), workers: 1, drainFor: time.Second}
	if err := c.run(t.Context(), clientset); !apierrors.IsForbidden(err) {
		t.Errorf("run = %v, want a refusal", err)
	}
}

func TestBurstOnServer(t *testing.T) {
	namespace, _ := nginx(t)
	p := start(t, "--kubeconfig", testcluster.Kubeconfig(t), "-n", namespace, "--workers", "4", "--work", "100ms", "--burst", "200", "--burst-key", namespace+"/nginx-1")
	line := p.await(t, "^BURST .*$")
	match := regexp.MustCompile(`200 updates of .*/nginx-1 in (.*) made (\d+) sync\(s\), never more than 1 at once`).FindStringSubmatch(line)
	if match == nil {
		t.Fatal(line)
	}
	var syncs int
	fmt.Sscan(match[2], &syncs)
	took, err := time.ParseDuration(match[1])
	if most := int(took/(100*time.Millisecond)) + 3; err != nil || syncs == 0 || syncs > most {
		t.Errorf("%s: that is not between 1 and %d syncs (%v)", line, most, err)
	}
	if updates := strings.Count(p.stdout.String(), "update pod:  "+namespace+"/nginx-1\n"); updates < 200 {
		t.Errorf("the handler was told of %d updates, want 200", updates)
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// nginx makes a namespace with a running pod nginx-1.
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
	await(t, "pod nginx-1 to be ready", func() bool {
		pod, err := pods.Get(t.Context(), "nginx-1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	return namespace, pods
}

// printed returns what the handlers have printed, and what the workers have: each for themselves have an order.
func printed(p *process, namespace string) (events, syncs []string) {
	for line := range strings.Lines(strings.ReplaceAll(p.stdout.String(), namespace+"/", "nginx/")) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, " pod:  ") {
			events = append(events, line)
		} else {
			syncs = append(syncs, line)
		}
	}
	return events, syncs
}

func checkLines(t *testing.T, p *process, namespace, when string, wantEvents, wantSyncs []string) {
	t.Helper()
	events, syncs := printed(p, namespace)
	if !slices.Equal(events, wantEvents) || !slices.Equal(syncs, wantSyncs) {
		t.Errorf("%s: handlers %q, workers %q", when, events, syncs)
	}
}
