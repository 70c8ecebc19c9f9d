package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/06-crd-codegen/crd"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/testcluster"
)

// world is a namespace of a test's own on a real API server, with the CRD.
type world struct {
	*testing.T
	config    *rest.Config
	namespace string
	client    kubernetes.Interface
	databases dbclient.DatabaseManagerInterface
}

func newWorld(t *testing.T) *world {
	t.Helper()
	config := testcluster.Config(t)
	if err := crd.Install(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, config: config, namespace: testcluster.Namespace(t, config)}
	w.client = kubernetes.NewForConfigOrDie(config)
	w.databases = versioned.NewForConfigOrDie(config).CoolopsV1alpha1().DatabaseManagers(w.namespace)
	return w
}

// in is the same world for a subtest.
func (w world) in(t *testing.T) *world {
	w.T = t
	return &w
}

// run runs the controller in the world's namespace until the test ends or the returned function is called, which
// waits for it. What it prints is in the buffer.
func (w *world) run(config *rest.Config, change ...func(*settings)) (output *buffer, stop func()) {
	w.Helper()
	s := settings{namespace: w.namespace, workers: 5, drainFor: 10 * time.Second}
	for _, change := range change {
		change(&s)
	}
	ctx, cancel := context.WithCancel(context.Background()) // w.Context() would end before the Cleanup
	output = &buffer{}
	var group sync.WaitGroup
	group.Go(func() {
		if err := run(ctx, config, s, program.NewPrinter(output)); err != nil {
			w.Errorf("run: %v", err)
		}
	})
	stop = func() {
		cancel()
		group.Wait()
	}
	w.Cleanup(stop)
	return output, stop
}

// make makes a DatabaseManager for mysql and a Deployment named db.
func (w *world) make(name string, change ...func(*dbv1alpha1.DatabaseManagerSpec)) *dbv1alpha1.DatabaseManager {
	w.Helper()
	d := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db"}}
	for _, change := range change {
		change(&d.Spec)
	}
	return got(w.databases.Create(w.Context(), d, metav1.CreateOptions{}))(w)
}

// until waits until what get returns meets the condition, and returns it.
func until[O any](w *world, what string, get func(ctx context.Context) (O, error), met func(O) bool) O {
	w.Helper()
	var last O
	var lastErr error
	err := wait.PollUntilContextTimeout(w.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last, lastErr = get(ctx)
		return lastErr == nil && met(last), nil
	})
	if err != nil {
		w.Fatalf("waited in vain for: %s; last error: %v; last: %+v", what, lastErr, last)
	}
	return last
}

// untilReady waits until the status says that the newest spec is there, or that it is not, for that reason.
func (w *world) untilReady(name, reason string) *dbv1alpha1.DatabaseManager {
	w.Helper()
	return until(w, name+" is "+reason, get(w.databases.Get, name), func(d *dbv1alpha1.DatabaseManager) bool {
		ready := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady)
		return d.Status.ObservedGeneration == d.Generation && ready != nil && ready.Reason == reason && ready.ObservedGeneration == d.Generation
	})
}

// untilGone waits until get finds nothing.
func untilGone[O any](w *world, what string, get func(context.Context, string, metav1.GetOptions) (O, error), name string) {
	w.Helper()
	until(w, what+" is gone", func(ctx context.Context) (error, error) {
		_, err := get(ctx, name, metav1.GetOptions{})
		return err, nil
	}, func(err error) bool { return err != nil && strings.Contains(err.Error(), "not found") })
}

func (w *world) deployment(name string) *appsv1.Deployment {
	w.Helper()
	return got(w.client.AppsV1().Deployments(w.namespace).Get(w.Context(), name, metav1.GetOptions{}))(w)
}

func (w *world) service(name string) *corev1.Service {
	w.Helper()
	return got(w.client.CoreV1().Services(w.namespace).Get(w.Context(), name, metav1.GetOptions{}))(w)
}

func (w *world) secret(name string) *corev1.Secret {
	w.Helper()
	return got(w.client.CoreV1().Secrets(w.namespace).Get(w.Context(), name, metav1.GetOptions{}))(w)
}

// got returns a result, or ends the test if there is an error.
func got[O any](o O, err error) func(w *world) O {
	return func(w *world) O {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
		return o
	}
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// lines returns how many lines begin with one of the words.
func (b *buffer) lines(words ...string) (n int) {
	for line := range strings.Lines(b.String()) {
		for _, word := range words {
			if strings.HasPrefix(line, word+" ") {
				n++
			}
		}
	}
	return n
}

// requests counts the requests of a client, by what they are.
type requests struct {
	mu     sync.Mutex
	counts map[string]int
}

// wrap returns a copy of config whose requests are counted.
func (r *requests) wrap(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			r.mu.Lock()
			if r.counts == nil {
				r.counts = map[string]int{}
			}
			r.counts[kindOfRequest(request)]++
			r.mu.Unlock()
			return next.RoundTrip(request)
		})
	})
	return config
}

// take returns what was counted since the last time.
func (r *requests) take() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts
	r.counts = map[string]int{}
	return counts
}

// kindOfRequest is the verb and the resource, such as PATCH deployments, or WATCH, which comes and goes by itself.
func kindOfRequest(request *http.Request) string {
	if request.URL.Query().Get("watch") != "" {
		return "WATCH"
	}
	_, path, _ := strings.Cut(request.URL.Path, "/namespaces/")
	parts := strings.Split(path, "/")
	if len(parts) > 3 {
		return fmt.Sprintf("%s %s/%s", request.Method, parts[1], parts[3])
	}
	return fmt.Sprintf("%s %s", request.Method, parts[min(1, len(parts)-1)])
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// get is a Get for until.
func get[O any](get func(context.Context, string, metav1.GetOptions) (O, error), name string) func(context.Context) (O, error) {
	return func(ctx context.Context) (O, error) { return get(ctx, name, metav1.GetOptions{}) }
}
