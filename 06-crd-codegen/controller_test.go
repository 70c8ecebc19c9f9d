package main

import (
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testkit"
)

// startController runs a controller whose fields the test can read, until the test ends or stop is called. It prints to
// out. Its events are discarded.
func startController(
	t testing.TB,
	client kubernetes.Interface,
	databases versioned.Interface,
	namespace string,
	workers int,
	out io.Writer,
	change ...func(*selection),
) (c *Controller, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	all := selection{namespace: namespace, labels: labels.Everything()}
	for _, change := range change {
		change(&all)
	}
	databaseFactory := newDatabaseFactory(databases, all)
	selected := all
	selected.labels = labels.SelectorFromSet(labels.Set{database.ManagedByLabel: database.FieldManager})
	childFactory := newFactory(client, selected)
	c = testkit.Must(NewController(client, databases, childFactory, databaseFactory, &record.FakeRecorder{}, program.NewPrinter(out)))(t)
	c.drainFor, c.shard = 20*time.Second, all.shard
	databaseFactory.StartWithContext(ctx)
	childFactory.StartWithContext(ctx)
	var group sync.WaitGroup
	group.Go(func() { c.Run(ctx, context.WithoutCancel(ctx), workers) })
	stop = sync.OnceFunc(func() { // later, it keeps no store alive
		cancel()
		group.Wait()
		databaseFactory.Shutdown()
		childFactory.Shutdown()
	})
	t.Cleanup(stop)
	return c, stop
}

// startController is startController in the namespace, with output that is discarded.
func (e *env) startController(config *rest.Config) *Controller {
	e.Helper()
	c, _ := startController(e, kubernetes.NewForConfigOrDie(config), versioned.NewForConfigOrDie(config), e.namespace, 5, io.Discard)
	return c
}

// resync enqueues every object once more, and waits until the queue is empty.
func (c *Controller) resync(t testing.TB) {
	t.Helper()
	objects := testkit.Must(c.databaseLister.List(labels.Everything()))(t)
	before := c.syncs.Load()
	for _, d := range objects {
		c.queue.Add(cache.MetaObjectToName(d))
	}
	testkit.Await(t, "the end of a resync", func() bool { return c.syncs.Load() >= before+int64(len(objects)) && c.idle() })
}

func (c *Controller) idle() bool { return c.queue.Len() == 0 && c.processing.Load() == 0 }

// undisturbed calls do when the controller has processed all that the server has, and returns the requests that it sends
// meanwhile. Kubernetes' own controllers write to Deployments and pods whenever they get to it, and each of their writes can be a
// cause for a request. So if there was one, all of it counts for nothing and is done again. The test's own writes are not
// counted as theirs if they are to pods.
func (e *env) undisturbed(c *Controller, counted *requests, do func()) (sent map[string]int) {
	e.Helper()
	testkit.Await(e, "a span without writes of others", func() bool {
		before, stored := e.versions(c)
		if !stored {
			return false
		}
		if c.resync(e); !c.idle() || !c.seesItsWrites(e) {
			return false
		}
		counted.take()
		do()
		sent = counted.take()
		delete(sent, "WATCH") // they begin and end by themselves
		after, _ := e.versions(c)
		return after == before
	}, &sent)
	return sent
}

// failsQuietly has the syncs of an object that cannot succeed go on. They send few requests and no status, so none of them causes the
// next one: that is a retry, after a delay.
func (e *env) failsQuietly(c *Controller, counted *requests, name string) {
	e.Helper()
	var syncs int64
	sent := e.undisturbed(c, counted, func() {
		before := c.syncs.Load()
		for range 5 {
			c.resync(e)
		}
		syncs = c.syncs.Load() - before
	})
	if total(sent) > 4*int(syncs) || sent["PATCH databasemanagers/status"] > 0 {
		e.Errorf("requests of %d syncs that fail: %v", syncs, sent)
	}
	key := cache.NewObjectName(e.namespace, name)
	testkit.Await(e, "a retry of "+name, func() bool { return slices.Contains(c.queue.Waiting(), key) })
}

// seesItsWrites reports whether the controller's stores have all that it has written.
func (c *Controller) seesItsWrites(t testing.TB) bool {
	t.Helper()
	return !slices.ContainsFunc(testkit.Must(c.databaseLister.List(labels.Everything()))(t), func(d *dbv1alpha1.DatabaseManager) bool {
		return c.consistency.EnsureReady(cache.MetaObjectToName(d)) != nil
	})
}

// versions returns the resourceVersions of all Deployments, and whether the controller's stores have them, and the pods'.
func (e *env) versions(c *Controller) (versions string, stored bool) {
	e.Helper()
	stored = true
	for _, d := range testkit.Must(e.deployments.List(e.Context(), metav1.ListOptions{}))(e).Items {
		versions += d.Name + " " + d.ResourceVersion + "\n"
		have, err := c.deploymentLister.Deployments(e.namespace).Get(d.Name)
		stored = stored && err == nil && have.ResourceVersion == d.ResourceVersion
	}
	ours := metav1.ListOptions{LabelSelector: database.ManagedByLabel + "=" + database.FieldManager}
	for _, pod := range testkit.Must(e.pods.List(e.Context(), ours))(e).Items {
		order, err := resourceversion.CompareResourceVersion(c.pods.LastResourceVersion(), pod.ResourceVersion)
		stored = stored && err == nil && order >= 0
	}
	return versions, stored
}
