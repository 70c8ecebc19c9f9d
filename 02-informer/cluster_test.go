package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/connect"
	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

func TestMain(m *testing.M) {
	testkit.Main(main)
	m.Run()
}

// TestBadInput runs the program: each mistake ends it with one line, before anything is started.
func TestBadInput(t *testing.T) {
	t.Parallel()
	kubeconfig := testcluster.Kubeconfig(t)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown namespace":      {[]string{"--namespace=nowhere"}, `there is no namespace "nowhere"`},
		"selector":               {[]string{"--selector=app in nginx"}, "app in nginx"},
		"negative resync":        {[]string{"--resync=-1s"}, "--resync cannot be negative"},
		"a lister without pause": {[]string{"--lister-period=0"}, "--lister-period and --handlers must be more than 0"},
		"no handlers":            {[]string{"--handlers=0"}, "--lister-period and --handlers must be more than 0"},
		"an unknown bad handler": {[]string{"--bad-handler=lazy"}, "it takes slow, blocks or panics"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := testkit.Run(t, testkit.Program(t, append(test.args, "--kubeconfig", kubeconfig)...))
			if code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			_, message, _ := strings.Cut(stderr, "02-informer: ")
			if !strings.Contains(message, test.want) || strings.Count(message, "\n") != 1 {
				t.Errorf("printed %q, want one line with %q", message, test.want)
			}
			if stdout != "" {
				t.Errorf("started and printed:\n%s", stdout)
			}
		})
	}
}

// start runs the chapter on a namespace of the cluster until the test ends, and waits until it has synced.
func start(t *testing.T, config *rest.Config, namespace string, change func(*options)) *testkit.Buffer {
	printed := &testkit.Buffer{}
	o := newOptions()
	o.namespace = namespace
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(testkit.Context(t.Context(), t))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, kubernetes.NewForConfigOrDie(config), o, program.NewPrinter(printed)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if t.Failed() {
			t.Logf("printed:\n%s", printed)
		}
	})
	await(t, printed, "SYNCED     handler of Pods\n")
	return printed
}

// await waits until the text was printed.
func await(t *testing.T, printed *testkit.Buffer, text string) {
	t.Helper()
	printed.Await(t, regexp.QuoteMeta(text))
}

// creator is a typed client of objects of type T.
type creator[T any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
}

func create[T any](t *testing.T, client creator[T], object T) T {
	t.Helper()
	return testkit.Must(client.Create(t.Context(), object, metav1.CreateOptions{}))(t)
}

// remove deletes a pod at once. No node runs it, so none has to stop it first.
func remove(t *testing.T, clientset kubernetes.Interface, namespace, name string) {
	t.Helper()
	err := clientset.CoreV1().Pods(namespace).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	if err != nil {
		t.Fatal(err)
	}
}

// newPod returns a pod that is never scheduled, so that only the test changes it.
func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "test"}},
		Spec: corev1.PodSpec{
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/never"}},
			Containers:      []corev1.Container{{Name: "main", Image: "nginx:1.28.0"}},
		},
	}
}

func newDeployment(name, app string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1.28.0"}}},
			},
		},
	}
}

func TestListerAndFilterOnCluster(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(namespace)
	printed := start(t, config, namespace, func(o *options) {
		o.labels = labels.SelectorFromSet(labels.Set{"app": "test"})
		o.name, o.listerPeriod = "test-1", 20*time.Millisecond
	})
	create(t, deployments, newDeployment("other", "other"))
	create(t, deployments, newDeployment("test-1", "test"))
	await(t, printed, "ADD        Deployment "+namespace+"/test-1\n")
	await(t, printed, "LISTER     name: test-1\n")
	if err := deployments.Delete(t.Context(), "test-1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, printed, "DELETE     Deployment "+namespace+"/test-1\nLISTER     not found\n")
	if strings.Contains(printed.String(), "/other") {
		t.Error("printed a Deployment without the label")
	}
	if !strings.HasPrefix(printed.String(), "LISTER     not found\n") {
		t.Error("the lister found something before the start")
	}
}

// While the program is cut off, one pod is deleted, and another is deleted and created again.
func TestGoneWhileAway(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		unreachable bool
		want        func(namespace, resourceVersion string) []string
	}{
		"refused connections: the watch is resumed and misses nothing": {
			unreachable: false,
			want: func(namespace, _ string) []string {
				return []string{
					"DELETE     Pod " + namespace + "/gone\n",
					"DELETE     Pod " + namespace + "/again\nADD        Pod " + namespace + "/again\n",
				}
			},
		},
		"no network: a relist finds what is different": {
			unreachable: true,
			want: func(namespace, resourceVersion string) []string {
				return []string{
					"DELETE     Pod " + namespace + "/gone (tombstone: last seen at resourceVersion " + resourceVersion + ")\n",
					"UPDATE     Pod " + namespace + "/again (another UID: deleted and created again)\n",
					"UPDATE     Pod " + namespace + "/same (relist, unchanged)\n",
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := testcluster.Config(t)
			namespace := testcluster.Namespace(t, config)
			clientset := kubernetes.NewForConfigOrDie(config)
			pods := clientset.CoreV1().Pods(namespace)
			cable := netfault.Cutter{Unreachable: test.unreachable}
			cut := rest.CopyConfig(config)
			cut.Dial = cable.Dial
			printed := start(t, cut, namespace, nil)
			// Not before the start: a watch that ends within a second and without an event is not resumed at all.
			create(t, pods, newPod("same"))
			create(t, pods, newPod("again"))
			gone := create(t, pods, newPod("gone"))
			await(t, printed, "ADD        Pod "+namespace+"/gone\n")
			cable.Cut()
			if test.unreachable {
				await(t, printed, "RETRY      *v1.Pod: no route to")
			}
			remove(t, clientset, namespace, "gone")
			remove(t, clientset, namespace, "again")
			create(t, pods, newPod("again"))
			cable.Restore()
			for _, want := range test.want(namespace, gone.ResourceVersion) {
				await(t, printed, want)
			}
		})
	}
}

// A silent connection is noticed by a ping without an answer. The informer relists, and its error handler is not called.
func TestSilentConnection(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1") // instead of 30
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")      // instead of 15
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(namespace)
	create(t, pods, newPod("same"))
	cut := netfault.Cutter{Silent: true}
	silent := rest.CopyConfig(config)
	silent.Dial = cut.Dial
	printed := start(t, silent, namespace, nil)
	if cut.Cut() == 0 { // the two watches may share a connection, or have one each
		t.Error("there was no connection to silence")
	}
	create(t, pods, newPod("meanwhile"))
	cut.Restore() // for new connections
	await(t, printed, "ADD        Pod "+namespace+"/meanwhile\n")
	await(t, printed, "UPDATE     Pod "+namespace+"/same (relist, unchanged)\n")
	if retries := printed.Lines("RETRY"); len(retries) > 0 {
		t.Errorf("printed %q, want no call of the watch error handler", retries)
	}
}

func TestWithoutPermissionOnCluster(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	visitor := testcluster.AsUser(config, "visitor-of-"+namespace)
	o := newOptions()
	o.namespace = namespace
	err := run(t.Context(), kubernetes.NewForConfigOrDie(visitor), o, program.NewPrinter(io.Discard))
	if !apierrors.IsForbidden(err) {
		t.Fatalf("run = %v, want forbidden", err)
	}
	explained := connect.Explain(err)
	for _, want := range []string{
		"visitor-of-" + namespace, "cannot list resource", "this needs a Role or ClusterRole with that verb and resource",
	} {
		if !strings.Contains(explained, want) {
			t.Errorf("explained: %s, want %q in it", explained, want)
		}
	}

	rbac := kubernetes.NewForConfigOrDie(config).RbacV1()
	create(t, rbac.Roles(namespace), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "visitor"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"", "apps"}, Resources: []string{"pods", "deployments"}, Verbs: []string{"list", "watch"},
		}},
	})
	create(t, rbac.RoleBindings(namespace), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "visitor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "visitor"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "visitor-of-" + namespace}},
	})
	testkit.Await(t, "the permission to list", func() bool {
		// The server's authorizer has informers, too: it takes a moment until it knows the new role.
		_, err := kubernetes.NewForConfigOrDie(visitor).CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	start(t, visitor, namespace, nil)
}

func TestTraceOnCluster(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	clientset := kubernetes.NewForConfigOrDie(config)
	printed := start(t, config, namespace, func(o *options) { o.demo.trace = true })
	create(t, clientset.CoreV1().Pods(namespace), newPod("a"))
	await(t, printed, "HANDLER    Pod "+namespace+"/a ADDED +")
	remove(t, clientset, namespace, "a")
	await(t, printed, "HANDLER    Pod "+namespace+"/a DELETED +")

	for _, event := range []string{"ADDED", "DELETED"} {
		rest := printed.String()
		for _, hop := range []string{"REFLECTOR ", "TRANSFORM ", "QUEUE     ", "STORE     ", "HANDLER   "} {
			line := hop + " Pod " + namespace + "/a " + event + " +"
			_, after, found := strings.Cut(rest, line)
			if !found {
				t.Errorf("no %q, or not in its place", line)
			}
			rest = after
		}
	}
}

// TestShards runs a program for each of three shards: together they have all pods, and none twice, also if the server ignores shards.
func TestShards(t *testing.T) {
	t.Parallel()
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(namespace)
	want := map[string]int{}
	for i := range 12 {
		pod := create(t, pods, newPod(fmt.Sprintf("web-%d", i)))
		want["Pod "+namespace+"/"+pod.Name] = 1
	}
	ignores := testkit.IgnoreShards(t, config)
	for name, config := range map[string]*rest.Config{"by the server": config, "by the program": ignores} {
		got, foreign := map[string]int{}, 0
		for _, shard := range []string{"1/3", "2/3", "3/3"} {
			printed := start(t, config, namespace, func(o *options) {
				if err := o.shard.Parse(shard); err != nil {
					t.Fatal(err)
				}
			})
			for _, line := range printed.Lines("ADD") {
				got[strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, "ADD")), " (first list)")]++
			}
			foreign += len(printed.Lines("SHARD"))
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the three programs have %v, want %v", name, got, want)
		}
		if isFiltered := foreign == 0; isFiltered != (name == "by the server") {
			t.Errorf("%s: %d lines SHARD", name, foreign)
		}
	}
}
