package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/connect"
	"example.com/client-go-workbook/internal/cutter"
	"example.com/client-go-workbook/internal/testcluster"
	"example.com/client-go-workbook/internal/transcript"
)

func TestReadme(t *testing.T) {
	transcript.Test(t, "README.md",
		"scripts/kubectl delete deployment/nginx-deployment pod/web -n nginx --ignore-not-found",
		"scripts/kubectl delete clusterrole/visitor clusterrolebinding/visitor --ignore-not-found",
		"scripts/kubectl config delete-context visitor; scripts/kubectl config delete-user visitor")
}

// TestMain lets the test program be the chapter's program, too.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_CHAPTER") != "" {
		main()
	}
	os.Exit(m.Run())
}

// TestBadInput runs the program: each mistake is told in one line, before anything is started.
func TestBadInput(t *testing.T) {
	kubeconfig := testcluster.Kubeconfig(t)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown namespace":      {[]string{"--namespace=nowhere"}, `there is no namespace "nowhere"`},
		"selector":               {[]string{"--selector=app in nginx"}, "app in nginx"},
		"negative resync":        {[]string{"--resync=-1s"}, "--resync cannot be negative"},
		"a lister in no time":    {[]string{"--look-every=0"}, "--look-every and --handlers must be more than 0"},
		"no handlers":            {[]string{"--handlers=0"}, "--look-every and --handlers must be more than 0"},
		"a handler of some kind": {[]string{"--bad-handler=lazy"}, "must be slow, blocks or panics"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], append(test.args, "--kubeconfig", kubeconfig)...)
			cmd.Env = append(os.Environ(), "RUN_CHAPTER=1")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 2 {
				t.Errorf("ended with %v, want exit code 2", err)
			}
			_, complaint, _ := strings.Cut(stderr.String(), "02-informer: ")
			if !strings.Contains(complaint, test.want) || strings.Count(complaint, "\n") != 1 {
				t.Errorf("complained %q, want one line with %q", complaint, test.want)
			}
			if stdout.Len() > 0 {
				t.Errorf("started and printed:\n%s", &stdout)
			}
		})
	}
}

// start runs the chapter on a namespace of the cluster until the test ends, and waits until it has synced.
func start(t *testing.T, config *rest.Config, namespace string, change func(*chapter)) *output {
	printed := &output{}
	c := newChapter(printed)
	c.namespace = namespace
	if change != nil {
		change(&c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.run(ctx, kubernetes.NewForConfigOrDie(config)) }()
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
func await(t *testing.T, printed *output, text string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return strings.Contains(printed.String(), text), nil
	})
	if err != nil {
		t.Fatalf("waiting for %q: %v", text, err)
	}
}

// client is one of the clientset's, of objects of type T.
type client[T any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
}

func create[T any](t *testing.T, client client[T], object T) T {
	t.Helper()
	object, err := client.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// remove deletes a pod at once. No node has it, so none has to stop it before.
func remove(t *testing.T, clientset kubernetes.Interface, namespace, name string) {
	t.Helper()
	err := clientset.CoreV1().Pods(namespace).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
	if err != nil {
		t.Fatal(err)
	}
}

// newPod returns a pod that is never scheduled, so that nobody but the test changes it.
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
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	deployments := kubernetes.NewForConfigOrDie(config).AppsV1().Deployments(namespace)
	printed := start(t, config, namespace, func(c *chapter) {
		c.labels = labels.SelectorFromSet(labels.Set{"app": "test"})
		c.name, c.lookEvery = "test-1", 20*time.Millisecond
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
		t.Error("told of a Deployment without the label")
	}
	if !strings.HasPrefix(printed.String(), "LISTER     not found\n") {
		t.Error("the lister found something before the start")
	}
}

// While the program can't see it, one pod is deleted, and another is deleted and created again.
func TestGoneWhileAway(t *testing.T) {
	for name, test := range map[string]struct {
		unreachable bool
		want        func(namespace, version string) []string
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
			want: func(namespace, version string) []string {
				return []string{
					"DELETE     Pod " + namespace + "/gone (tombstone: last seen at resourceVersion " + version + ")\n",
					"UPDATE     Pod " + namespace + "/again (another UID: deleted and created again)\n",
					"UPDATE     Pod " + namespace + "/same (relist, unchanged)\n",
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := testcluster.Config(t)
			namespace := testcluster.Namespace(t, config)
			clientset := kubernetes.NewForConfigOrDie(config)
			pods := clientset.CoreV1().Pods(namespace)
			cable := cutter.Cutter{Unreachable: test.unreachable}
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
				await(t, printed, "RETRY      *v1.Pod: no way to")
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

func TestWhoMayNotListOnCluster(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	visitor := testcluster.AsUser(config, "visitor-of-"+namespace)
	var printed output
	c := newChapter(&printed)
	c.namespace = namespace
	err := c.run(t.Context(), kubernetes.NewForConfigOrDie(visitor))
	if !apierrors.IsForbidden(err) {
		t.Fatalf("run = %v, want forbidden", err)
	}
	explained := connect.Explain(err)
	for _, want := range []string{"visitor-of-" + namespace, "cannot list resource", "this needs a Role or ClusterRole with that verb and resource"} {
		if !strings.Contains(explained, want) {
			t.Errorf("explained: %s, want %q in it", explained, want)
		}
	}

	rbac := kubernetes.NewForConfigOrDie(config).RbacV1()
	create(t, rbac.Roles(namespace), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "visitor"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"", "apps"}, Resources: []string{"pods", "deployments"}, Verbs: []string{"list", "watch"}}},
	})
	create(t, rbac.RoleBindings(namespace), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "visitor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "visitor"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "visitor-of-" + namespace}},
	})
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		// The server's authorizer has informers, too: it takes a moment until it knows of the new role.
		_, err := kubernetes.NewForConfigOrDie(visitor).CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	start(t, visitor, namespace, nil)
}

func TestTraceOnCluster(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	clientset := kubernetes.NewForConfigOrDie(config)
	printed := start(t, config, namespace, func(c *chapter) { c.tracer = &tracer{out: c.out} })
	create(t, clientset.CoreV1().Pods(namespace), newPod("a"))
	await(t, printed, "ADD        Pod "+namespace+"/a +")
	remove(t, clientset, namespace, "a")
	await(t, printed, "DELETE     Pod "+namespace+"/a +")

	for _, event := range []string{"ADDED", "DELETED"} {
		rest := printed.String()
		for _, hop := range []string{"REFLECTOR ", "TRANSFORM ", "QUEUE     ", "STORE     "} {
			line := hop + " Pod " + namespace + "/a " + event + " +"
			_, after, found := strings.Cut(rest, line)
			if !found {
				t.Errorf("no %q, or not in its place", line)
			}
			rest = after
		}
	}
}
