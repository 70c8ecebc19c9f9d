package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testkit"
)

func TestHandlers(t *testing.T) {
	for name, test := range map[string]struct {
		pods   []answer
		change func(*options)
		want   string
	}{
		"events": {
			pods: []answer{{body: pod("ADDED", "a", "1") + podBookmark +
				pod("MODIFIED", "a", "11") + pod("DELETED", "a", "12") + pod("ADDED", "a-again", "13")}},
			want: `ADD        Pod x/a (first list)
UPDATE     Pod x/a resourceVersion 11, from 1
DELETE     Pod x/a
ADD        Pod x/a
`,
		},
		"a watch that ends is resumed, and no handler is called": {
			pods: []answer{
				{body: pod("ADDED", "a", "1") + podBookmark + pod("MODIFIED", "a", "11"), ends: true},
				{body: pod("MODIFIED", "a", "12")},
			},
			want: `ADD        Pod x/a (first list)
UPDATE     Pod x/a resourceVersion 11, from 1
UPDATE     Pod x/a resourceVersion 12, from 11
`,
		},
		"a relist finds what is unchanged": {
			pods: []answer{{body: pod("ADDED", "a", "1") + podBookmark + gone}, {body: pod("ADDED", "a", "1") + podBookmark}},
			want: `ADD        Pod x/a (first list)
UPDATE     Pod x/a (relist, unchanged)
`,
		},
		"a relist finds what was missed, deletions first": {
			pods: []answer{{body: pod("ADDED", "a", "1") + podBookmark + gone}, {body: pod("ADDED", "b", "21") + podBookmark}},
			want: `ADD        Pod x/a (first list)
DELETE     Pod x/a (tombstone: last seen at resourceVersion 1)
ADD        Pod x/b
`,
		},
		"deleted and created again while away is one update": {
			pods: []answer{{body: pod("ADDED", "a", "1") + podBookmark + gone}, {body: pod("ADDED", "a-again", "21") + podBookmark}},
			want: `ADD        Pod x/a (first list)
UPDATE     Pod x/a (another UID: deleted and created again)
`,
		},
		"a server without streaming lists is asked for a list": {
			pods: []answer{streamingListsOff, {body: podList, ends: true}},
			want: "ADD        Pod x/a (first list)\n",
		},
		"a resync sends no request": {
			pods:   []answer{{body: pod("ADDED", "a", "1") + podBookmark}},
			change: func(o *options) { o.resync = 25 * time.Second },
			want: `ADD        Pod x/a (first list)
UPDATE     Pod x/a (resync)
UPDATE     Pod x/a (resync)
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			printed, err := play(t, script{"pods": test.pods}, time.Minute, test.change)
			if err != nil {
				t.Errorf("run: %v", err)
			}
			if diff := cmp.Diff(test.want, lines(printed, "ADD", "UPDATE", "DELETE")); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTombstoneWithoutState(t *testing.T) {
	var printed testkit.Buffer
	handler[*corev1.Pod]{program.NewPrinter(&printed)}.OnDelete(cache.DeletedObject[*corev1.Pod]{
		FinalStateUnknown: &cache.DeletedFinalStateUnknown{Key: "x/a"},
	})
	if got, want := printed.String(), "DELETE     Pod x/a (tombstone: last state unknown)\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

// The second article's run, with its Deployment created and deleted in between.
func TestLister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var printed testkit.Buffer
		o := newOptions()
		o.listerPeriod = 10 * time.Second
		clientset := fake.NewClientset()
		deployments := clientset.AppsV1().Deployments("default")
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "nginx-deployment"}}
		time.AfterFunc(6*time.Second, func() { deployments.Create(t.Context(), deployment, metav1.CreateOptions{}) })
		time.AfterFunc(22*time.Second, func() { deployments.Delete(t.Context(), deployment.Name, metav1.DeleteOptions{}) })
		ctx, cancel := context.WithTimeout(t.Context(), 32*time.Second)
		defer cancel()
		if err := run(ctx, clientset, o, program.NewPrinter(&printed)); err != nil {
			t.Error(err)
		}
		want := `LISTER     not found
LISTER     not found
ADD        Deployment default/nginx-deployment
LISTER     name: nginx-deployment
LISTER     name: nginx-deployment
DELETE     Deployment default/nginx-deployment
LISTER     not found
`
		if diff := cmp.Diff(want, lines(&printed, "LISTER", "ADD", "DELETE")); diff != "" {
			t.Errorf("printed (-want +got):\n%s", diff)
		}
	})
}

func TestTrace(t *testing.T) {
	pods := answer{body: pod("ADDED", "a", "1") + podBookmark + pod("MODIFIED", "a", "11") + pod("DELETED", "a", "12")}
	printed := testkit.Must(play(t, script{"pods": {pods}}, time.Minute, func(o *options) { o.demo.trace = true }))(t)
	// Several goroutines print the hops. Those of one object come in this order, and in a bubble no time passes between
	// them.
	for event, want := range map[string][]string{
		"ADDED":    {"REFLECTOR", "TRANSFORM", "TRANSFORM", "STORE", "HANDLER"},
		"MODIFIED": {"REFLECTOR", "TRANSFORM", "QUEUE", "STORE", "HANDLER"},
		"DELETED":  {"REFLECTOR", "TRANSFORM", "QUEUE", "STORE", "HANDLER"},
	} {
		var got []string
		for line := range strings.Lines(printed.String()) {
			if strings.Contains(line, "Pod x/a "+event+" +0.00ms") {
				got = append(got, strings.Fields(line)[0])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: hops (-want +got):\n%s", event, diff)
		}
	}
	want := `ADD        Pod x/a (first list)
UPDATE     Pod x/a resourceVersion 11, from 1
DELETE     Pod x/a
`
	if diff := cmp.Diff(want, lines(printed, "ADD", "UPDATE", "DELETE")); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	for _, line := range []string{"QUEUE      Pod: 1 waiting, the whole list counts as one\n", "REFLECTOR  Pod BOOKMARK\n"} {
		if !strings.Contains(printed.String(), line) {
			t.Errorf("did not print %q", line)
		}
	}
	if t.Failed() {
		t.Logf("printed:\n%s", printed)
	}
}

func TestTraceOfAListWithoutStreaming(t *testing.T) {
	pods := []answer{streamingListsOff, {body: podList, ends: true}}
	printed := testkit.Must(play(t, script{"pods": pods}, time.Minute, func(o *options) { o.demo.trace = true }))(t)
	for _, line := range []string{
		"REFLECTOR  Pod x/a LISTED +0.00ms\n", "TRANSFORM  Pod x/a LISTED +0.00ms\n", "STORE      Pod x/a LISTED +0.00ms\n",
	} {
		if strings.Count(printed.String(), line) != 1 {
			t.Errorf("did not print %q once:\n%s", line, printed)
		}
	}
}

// The traced informers send the requests that the factory's own send: the same paths, parameters and encodings.
func TestTraceSendsTheSameRequests(t *testing.T) {
	sent := func(traced bool) map[string][]string {
		requests, mu := map[string][]string{}, sync.Mutex{}
		pods := []answer{streamingListsOff, {body: podList, ends: true}, {body: gone}}
		s := script{"pods": pods}
		record := testkit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			query := request.URL.Query()
			query.Del("timeout") // random
			query.Del("timeoutSeconds")
			mu.Lock()
			requests[request.URL.Path] = append(requests[request.URL.Path], query.Encode()+" "+request.Header.Get("Accept"))
			mu.Unlock()
			return s.RoundTrip(request)
		})
		change := func(o *options) {
			o.labels, o.namespace, o.demo.trace = labels.SelectorFromSet(labels.Set{"app": "nginx"}), "x", traced
		}
		if err := playOn(t, record, time.Minute, change, io.Discard); err != nil {
			t.Error(err)
		}
		return requests
	}
	plain := sent(false)
	if diff := cmp.Diff(plain, sent(true)); diff != "" {
		t.Errorf("requests with --trace (-without +with):\n%s", diff)
	}
	first := "allowWatchBookmarks=true&labelSelector=app%3Dnginx&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true application/vnd.kubernetes.protobuf,application/json"
	if got := plain["/api/v1/namespaces/x/pods"]; len(got) < 3 || got[0] != first {
		t.Errorf("requests for pods: %q, want at least 3 of which the first is %q", got, first)
	}
}

func TestStoresKeepNoManagedFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "x", Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		}}
		factory := newFactory(fake.NewClientset(pod), newOptions().selection)
		pods := factory.Core().V1().Pods().Lister()
		ctx, cancel := context.WithCancel(t.Context())
		defer factory.Shutdown()
		defer cancel()
		factory.StartWithContext(ctx)
		if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
			t.Fatal(err)
		}
		stored := testkit.Must(pods.Pods("x").Get("a"))(t)
		if stored.ManagedFields != nil {
			t.Errorf("the store has managedFields: %v", stored.ManagedFields)
		}
	})
}

func TestSeveralHandlersShareOneWatch(t *testing.T) {
	for name, test := range map[string]struct {
		factoryEach bool
		want        int
	}{
		"one factory":               {false, 2},
		"a factory of its own each": {true, 6},
	} {
		t.Run(name, func(t *testing.T) {
			s := script{"pods": {{body: podBookmark}, {body: podBookmark}, {body: podBookmark}}}
			printed, err := play(t, s, time.Minute, func(o *options) { o.demo.handlers, o.demo.factoryEach = 3, test.factoryEach })
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("SYNCED     stores, with %d request(s) for 6 handlers\n", test.want)
			if !strings.Contains(printed.String(), want) {
				t.Errorf("did not print %q:\n%s", want, printed)
			}
		})
	}
}

func TestBadHandlersAndTheOthers(t *testing.T) {
	pods := pod("ADDED", "a", "1") + pod("ADDED", "b", "2") + podBookmark + pod("MODIFIED", "a", "11") + pod("ADDED", "c", "12")
	for _, bad := range []badHandler{"slow", "blocks"} {
		t.Run(string(bad), func(t *testing.T) {
			printed := testkit.Must(play(t, script{"pods": {{body: pods}}}, time.Minute, func(o *options) { o.demo.bad = bad }))(t)
			// The good handler is called for everything, at once.
			calledFor := printed.Lines("ADD", "UPDATE")
			slices.Sort(calledFor)
			want := []string{
				"ADD        Pod x/a (first list)", "ADD        Pod x/b (first list)", "ADD        Pod x/c",
				"UPDATE     Pod x/a resourceVersion 11, from 1",
			}
			if diff := cmp.Diff(want, calledFor); diff != "" {
				t.Errorf("the good handler was called for (-want +got):\n%s", diff)
			}
			// The bad one has a buffer of its own, and its registration knows how far it is.
			calls, synced := 3, "SYNCED     bad handler of Pods\n"
			if bad == "blocks" {
				calls, synced = 1, ""
			}
			if got := strings.Count(printed.String(), "BAD "); got != calls {
				t.Errorf("the bad handler was called %d times, want %d", got, calls)
			}
			_, after, _ := strings.Cut(lines(printed, "SYNCED"), "SYNCED     handler of Pods\n")
			if after != synced {
				t.Errorf("after the good handlers had synced, printed %q, want %q", after, synced)
			}
		})
	}
}

// A handler's panic ends the process, so this test runs in one of its own.
func TestPanickingHandlerEndsTheProgram(t *testing.T) {
	if os.Getenv("PANIC") != "" {
		pods := script{"pods": {{body: pod("ADDED", "a", "1") + podBookmark}}}
		playOn(t, pods, time.Minute, func(o *options) { o.demo.bad = "panics" }, os.Stdout)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "PANIC=1")
	output, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("ended with %v, want exit code 2 as from a panic", err)
	}
	for _, want := range []string{"Observed a panic", "panic: the bad handler was called for x/a"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("did not print %q:\n%s", want, output)
		}
	}
}

func TestWatchErrors(t *testing.T) {
	const forbidden = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"you cannot list pods"}`
	denied := answer{status: http.StatusForbidden, body: forbidden}
	t.Run("no permission to list ends the program", func(t *testing.T) {
		printed, err := play(t, script{"pods": {denied, denied}}, time.Hour, nil)
		if !apierrors.IsForbidden(err) {
			t.Errorf("run = %v, want forbidden", err)
		}
		if strings.Contains(printed.String(), "SYNCED") {
			t.Errorf("printed:\n%s", printed)
		}
	})
	t.Run("permission that is lost later does not: the store is still there", func(t *testing.T) {
		pods := []answer{
			{body: pod("ADDED", "a", "1") + podBookmark + pod("MODIFIED", "a", "11"), ends: true},
			denied, denied, denied,
			{body: pod("ADDED", "b", "21") + podBookmark},
		}
		printed, err := play(t, script{"pods": pods}, time.Minute, nil)
		if err != nil {
			t.Errorf("run: %v", err)
		}
		want := `RETRY      *v1.Pod: you cannot list pods: this needs a Role or ClusterRole with that verb and resource, bound to the user
RETRY      *v1.Pod: failed to list *v1.Pod: you cannot list pods: this needs a Role or ClusterRole with that verb and resource, bound to the user
DELETE     Pod x/a (tombstone: last seen at resourceVersion 11)
`
		if diff := cmp.Diff(want, lines(printed, "RETRY", "DELETE")); diff != "" {
			t.Errorf("printed (-want +got):\n%s", diff)
		}
	})
}

func TestStripManagedFieldsTwice(t *testing.T) {
	var object any = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}}
	for range 2 {
		stripped, err := stripManagedFields(object)
		if diff := cmp.Diff(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, stripped); err != nil || diff != "" {
			t.Errorf("stripManagedFields: %v, result (-want +got):\n%s", err, diff)
		}
		object = stripped
	}
}

// Shutdown waits for the handlers, also for one that never returns.
func TestShutdownWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		factory := newFactory(fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}), newOptions().selection)
		release, isDown := make(chan struct{}), make(chan struct{})
		_, err := factory.Core().V1().Pods().TypedInformer().AddTypedEventHandler(coreinformers.PodHandlerFuncs{
			AddFunc: func(*corev1.Pod) { <-release },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		factory.StartWithContext(ctx)
		if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
			t.Fatal(err)
		}
		cancel()
		go func() {
			factory.Shutdown()
			close(isDown)
		}()
		select {
		case <-isDown:
			t.Error("Shutdown did not wait for the handler")
		case <-time.After(time.Hour):
		}
		close(release)
		<-isDown
	})
}
