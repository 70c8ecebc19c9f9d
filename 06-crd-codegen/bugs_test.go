package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/fake"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testkit"
)

// The tests here show the first eight faults of the program in docs/then-and-now.md: first what the article's way leads to, as "article",
// then what this chapter's does, as "ours", or where that is tested.

// articleDeployment is what the article wants for a DatabaseManager: named after the object, labelled with the type.
func articleDeployment(d *dbv1alpha1.DatabaseManager) *appsv1.Deployment {
	labels := map[string]string{"app": string(d.Spec.Dbtype)}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: d.Name, OwnerReferences: ownerReference(d)},
		Spec: appsv1.DeploymentSpec{
			Replicas: d.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "mysql", Image: "mysql:5.7"}}},
			},
		},
	}
}

// Bug 1: it looks for the Deployment under spec.deploymentName, and creates it under the object's own name.
func TestBugTwoNames(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	d := e.create("example-mysql", func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = "mysql" })
	deployments := e.deployments
	articleSync := func() error {
		_, err := deployments.Get(t.Context(), d.Spec.DeploymentName, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = deployments.Create(t.Context(), articleDeployment(d), metav1.CreateOptions{})
		}
		return err
	}
	if err := articleSync(); err != nil {
		t.Fatalf("article, first sync: %v", err)
	}
	for range 3 {
		if err := articleSync(); !apierrors.IsAlreadyExists(err) {
			t.Errorf("article, a later sync: got %v, want AlreadyExists", err)
		}
	}
	if _, err := deployments.Get(t.Context(), "mysql", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("article: got %v, want no Deployment mysql", err)
	}

	if err := deployments.Delete(t.Context(), "example-mysql", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	e.run(e.config)
	e.untilReady("example-mysql", rollout.ReasonReplicasReady)
	e.deployment("mysql")
}

// Bug 2: a key whose sync failed is not added again.
func TestBugFailedKeyIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		queue.Add("x")
		key, _ := queue.Get()
		queue.Done(key) // article: on an error it is reported, and this is all
		time.Sleep(time.Hour)
		if queue.Len() != 0 {
			t.Error("article: the key comes back")
		}
		queue.ShutDown()

		c, stop := fakeController(t)
		failures := 0
		c.syncHandler = func(_ context.Context, _ cache.ObjectName) error {
			failures++
			if failures <= 3 {
				return errors.New("fails")
			}
			return nil
		}
		c.queue.Add(cache.NewObjectName("x", "y"))
		time.Sleep(time.Second)
		stop()
		if failures != 4 {
			t.Errorf("ours: %d attempts, want 3 that fail and one more", failures)
		}
	})
}

// Bug 3: at the end it asks whether the queue is ShuttingDown, where it should ShutDown it.
func TestBugShuttingDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		ended := false
		go func() {
			queue.Get()
			ended = true
		}()
		queue.ShuttingDown() // article: deferred in Run
		time.Sleep(time.Hour)
		if ended {
			t.Error("article: the worker ends")
		}
		queue.ShutDown() // ours; without it the bubble would find the worker still there
		synctest.Wait()
		if !ended {
			t.Error("ours: the worker does not end")
		}

		// Run as a whole: it returns when all workers have, after they have finished their keys.
		c, stop := fakeController(t)
		done := false
		c.syncHandler = func(context.Context, cache.ObjectName) error {
			time.Sleep(5 * time.Second)
			done = true
			return nil
		}
		c.queue.Add(cache.NewObjectName("x", "y"))
		synctest.Wait()
		stop()
		if !done {
			t.Error("ours: Run has returned with a sync half done")
		}
	})
}

// Bug 4: it waits for one cache and reads from two.
func TestBugOneCacheWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dbv1alpha1.DatabaseManager{
			ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "example", UID: "1"},
			Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db"},
		}
		existing := articleDeployment(d)
		existing.Name, existing.Namespace, existing.Labels = "db", "x", map[string]string{database.ManagedByLabel: database.FieldManager}
		client, databases := kubefake.NewClientset(existing), fake.NewClientset(d)
		var slow atomic.Bool
		slow.Store(true)
		client.PrependReactor("list", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
			return slow.Load(), nil, apierrors.NewServerTimeout(appsv1.Resource("deployments"), "list", 1)
		})
		c, stop := startController(t, client, databases, "", 1, io.Discard)
		time.Sleep(time.Minute)
		if _, err := c.databaseLister.DatabaseManagers("x").Get("example"); err != nil {
			t.Error("the DatabaseManagers are not there")
		}
		if _, err := c.deploymentLister.Deployments("x").Get("db"); !apierrors.IsNotFound(err) {
			t.Errorf("article: got %v, want a Deployment that exists not to be found", err)
		}
		if n := c.syncs.Load(); n != 0 {
			t.Errorf("ours: %d syncs before all lists are there", n)
		}
		slow.Store(false)
		time.Sleep(time.Minute)
		if c.syncs.Load() == 0 {
			t.Error("ours: no sync with all lists there")
		}
		stop()
	})
}

// Bug 5: the selector is the same for all databases of a type. Ours: TestDatabasesOfOneTypeAreSeparate.
func TestBugSharedSelector(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, name := range []string{"one", "two"} {
		d := e.create(name, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = name })
		testkit.Must(e.deployments.Create(t.Context(), articleDeployment(d), metav1.CreateOptions{}))(e)
	}
	until(e, "article: two pods by one Deployment's selector", func(ctx context.Context) (*corev1.PodList, error) {
		return e.pods.List(ctx, metav1.ListOptions{LabelSelector: "app=mysql"})
	}, func(pods *corev1.PodList) bool {
		return len(pods.Items) == 2 && strings.Split(pods.Items[0].Name, "-")[0] != strings.Split(pods.Items[1].Name, "-")[0]
	})
	// When a Deployment goes and leaves its pods behind, another that selects them takes them over.
	orphan := metav1.DeletePropagationOrphan
	if err := e.deployments.Delete(t.Context(), "one", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	until(e, "article: two has taken over the ReplicaSet of one", func(ctx context.Context) (*appsv1.ReplicaSetList, error) {
		return e.client.AppsV1().ReplicaSets(e.namespace).List(ctx, metav1.ListOptions{})
	}, func(sets *appsv1.ReplicaSetList) bool {
		for _, set := range sets.Items {
			if owner := metav1.GetControllerOf(&set); strings.HasPrefix(set.Name, "one-") && owner != nil && owner.Name == "two" {
				return true
			}
		}
		return false
	})
}

// Bug 6: the status is written with Update. Ours: TestChildrenFollowTheirOwnerThroughItsLife reads it back.
func TestBugStatusThroughUpdate(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	d := e.create("example")
	d.Status.AvailableReplicas = 1
	d = testkit.Must(e.databases.Update(t.Context(), d, metav1.UpdateOptions{}))(e)
	if d.Status.AvailableReplicas != 0 {
		t.Errorf("article: Update has stored availableReplicas %d", d.Status.AvailableReplicas)
	}
}

// Bug 7: to change one field it updates the whole object to what it would make today. Ours: TestFieldsOfOthersStay.
func TestBugBlindUpdate(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	d := e.create("example")
	deployments := e.deployments
	testkit.Must(deployments.Create(t.Context(), articleDeployment(d), metav1.CreateOptions{}))(e)
	testkit.Must(deployments.Patch(t.Context(), "example", types.StrategicMergePatchType, []byte(`{
		"metadata": {"annotations": {"somebody": "else"}},
		"spec": {"template": {"spec": {"containers": [{"name": "exporter", "image": "exporter:1.0.0"}]}}}}`), metav1.PatchOptions{}))(e)
	changed := articleDeployment(d)
	changed.Spec.Replicas = new(int32(2))
	after := testkit.Must(deployments.Update(t.Context(), changed, metav1.UpdateOptions{}))(e)
	if after.Annotations["somebody"] != "" || len(after.Spec.Template.Spec.Containers) != 1 {
		t.Errorf("article: the fields of others are still there: %v, %d containers",
			after.Annotations, len(after.Spec.Template.Spec.Containers))
	}
}

// Bug 8: every event is added with AddRateLimited.
func TestBugEveryEventRateLimited(t *testing.T) {
	const objects = 1000
	last := func(add func(queue workqueue.TypedRateLimitingInterface[string], key string)) time.Duration {
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer queue.ShutDown()
		start := time.Now()
		for i := range objects {
			add(queue, fmt.Sprint(i))
		}
		for range objects {
			key, _ := queue.Get()
			queue.Forget(key)
			queue.Done(key)
		}
		return time.Since(start)
	}
	synctest.Test(t, func(t *testing.T) {
		took := last(func(queue workqueue.TypedRateLimitingInterface[string], key string) { queue.AddRateLimited(key) })
		if took < 89*time.Second || took > 91*time.Second {
			t.Errorf("article: the last of %d objects is reached after %s, want about 90s", objects, took)
		}
		if took := last(func(queue workqueue.TypedRateLimitingInterface[string], key string) { queue.Add(key) }); took != 0 {
			t.Errorf("ours: the last of %d objects is reached after %s", objects, took)
		}
	})
}

// fakeController is a controller on an empty fake cluster, in a synctest bubble.
func fakeController(t *testing.T) (c *Controller, stop func()) {
	t.Helper()
	c, stop = startController(t, kubefake.NewClientset(), fake.NewClientset(), "", 1, io.Discard)
	synctest.Wait()
	return c, sync.OnceFunc(stop)
}
