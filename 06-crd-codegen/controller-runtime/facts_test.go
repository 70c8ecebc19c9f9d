package main

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// These tests show what controller-runtime does, with no part of this program. The README and three predictions cite them.

// newManager returns a manager for one namespace, which the caller has to start.
func newManager(t *testing.T, on *rest.Config, namespace string, reads *client.CacheOptions) manager.Manager {
	t.Helper()
	return testkit.Must(manager.New(on, manager.Options{
		Scheme:     scheme.Scheme,
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client:     client.Options{Cache: reads},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Logger:     log.FromContext(testkit.Context(t.Context(), t)),
	}))(t)
}

// start starts a manager, which ends with the test.
func start(t *testing.T, m manager.Manager) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if !m.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache has not synced")
	}
	return ctx
}

// TestOwnsAndAForeignChild has a controller of ConfigMaps with two Owns. A Deployment has the name of a child, and no owner.
func TestOwnsAndAForeignChild(t *testing.T) {
	t.Parallel()
	on := testcluster.Config(t)
	namespace := testcluster.Namespace(t, on)
	m := newManager(t, on, namespace, nil)
	seen := make(chan string, 100)
	err := builder.ControllerManagedBy(m).Named("owns").For(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).
		Complete(reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
			if strings.HasPrefix(request.Name, "waits") { // the namespace has a ConfigMap of Kubernetes' own
				seen <- request.Name
			}
			return reconcile.Result{}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, c := start(t, m), m.GetClient()
	next := func() string {
		select {
		case name := <-seen:
			return name
		case <-time.After(time.Minute):
			t.Fatal("nothing was enqueued")
			return ""
		}
	}
	owner := func(name string) *corev1.ConfigMap {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if err := c.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
		if got := next(); got != name {
			t.Fatalf("%s was enqueued, not %s", got, name)
		}
		return o
	}
	one, two := owner("waits-for-the-name"), owner("waits-too")
	service := func(name string, owners ...metav1.OwnerReference) *corev1.Service {
		o := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners},
			Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
		}
		if err := c.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	foreign := service(one.Name)
	if err := c.Delete(ctx, foreign); err != nil {
		t.Fatal(err)
	}
	// The events of one kind come in their order: when this one has arrived, those of the foreign Service have, too.
	service("owned", *metav1.NewControllerRef(two, corev1.SchemeGroupVersion.WithKind("ConfigMap")))
	if got := next(); got != two.Name {
		t.Errorf("%s was enqueued first, want %s only", got, two.Name)
	}
	t.Log("the foreign Service was created and deleted, and an owned one created: enqueued only " + two.Name)
}

// TestReadAfterWrite creates an object, and reads it from a cache that is 500 ms behind.
func TestReadAfterWrite(t *testing.T) {
	t.Parallel()
	on := rest.CopyConfig(testcluster.Config(t))
	on.Wrap(netfault.SlowWatches(500 * time.Millisecond))
	namespace := testcluster.Namespace(t, on)
	for name, waits := range map[string]bool{"as it comes": false, "EnableReadYourWritesConsistency": true} {
		t.Run(name, func(t *testing.T) {
			m := newManager(t, on, namespace, &client.CacheOptions{EnableReadYourWritesConsistency: &waits})
			testkit.Must(m.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false)))(t)
			ctx, c := start(t, m), m.GetClient()
			made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "made-"}}
			if err := c.Create(ctx, made); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			err := c.Get(ctx, client.ObjectKeyFromObject(made), &corev1.ConfigMap{})
			took := time.Since(begin)
			switch {
			case waits && err == nil && took > 300*time.Millisecond:
				t.Log("created it, and read it: found, after a wait")
			case !waits && apierrors.IsNotFound(err) && took < 300*time.Millisecond:
				t.Log("created it, and read it: not found")
			default:
				t.Errorf("after %s: %v", took, err)
			}
		})
	}
}

// TestErrorAgainstRequeueAfter lets a Reconcile not succeed for eleven minutes, and then looks when it is called next. The time is
// a synctest bubble's.
func TestErrorAgainstRequeueAfter(t *testing.T) {
	for name, result := range map[string]struct {
		after   time.Duration
		err     error
		minimum time.Duration // of the wait after that
		maximum time.Duration
	}{
		"an error":                   {0, errors.New("the name is taken"), 10 * time.Minute, 11 * time.Minute},
		"RequeueAfter":               {30 * time.Second, nil, 0, 30 * time.Second},
		"an error, and RequeueAfter": {30 * time.Second, errors.New("the name is taken"), 10 * time.Minute, 11 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var calls, last atomic.Int64 // the second is the time of the last one since begin
				c := testkit.Must(controller.NewUnmanaged("requeue", controller.Options{
					SkipNameValidation: new(true),
					Logger:             log.FromContext(testkit.Context(t.Context(), t)),
					Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
						calls.Add(1)
						last.Store(int64(time.Since(begin)))
						return reconcile.Result{RequeueAfter: result.after}, result.err
					}),
				}))(t)
				one := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
					queue.Add(reconcile.Request{})
					return nil
				})
				if err := c.Watch(one); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- c.Start(ctx) }()
				time.Sleep(11 * time.Minute)
				synctest.Wait()
				before := calls.Load()
				for calls.Load() == before {
					time.Sleep(time.Second)
					synctest.Wait()
				}
				wait := time.Duration(last.Load()) - 11*time.Minute
				t.Logf("%s: %d calls in eleven minutes; the next one %s later", name, before, wait.Round(time.Second))
				if wait < result.minimum || wait > result.maximum {
					t.Errorf("want from %s to %s", result.minimum, result.maximum)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
