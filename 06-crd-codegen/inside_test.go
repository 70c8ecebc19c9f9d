package main

import (
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/program"
)

// startController runs a controller that the test can look into, until the test ends or stop is called. It prints to
// out, and its events go nowhere.
func startController(t testing.TB, client kubernetes.Interface, databases versioned.Interface, namespace string, workers int, out io.Writer) (c *Controller, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	databaseInformers := newDatabaseFactory(databases, selection{namespace: namespace, labels: labels.Everything()})
	childInformers := newFactory(client, selection{namespace: namespace, labels: labels.SelectorFromSet(labels.Set{managedByLabel: fieldManager})})
	c, err := NewController(client, databases, childInformers, databaseInformers, &record.FakeRecorder{}, program.NewPrinter(out))
	if err != nil {
		t.Fatal(err)
	}
	databaseInformers.StartWithContext(ctx)
	childInformers.StartWithContext(ctx)
	var group sync.WaitGroup
	group.Go(func() { c.Run(ctx, context.WithoutCancel(ctx), workers) })
	stop = func() {
		cancel()
		group.Wait()
		databaseInformers.Shutdown()
		childInformers.Shutdown()
	}
	t.Cleanup(stop)
	return c, stop
}

// inside is startController in the world's namespace. The function that it returns has every object looked at once
// more, and waits for it.
func (w *world) inside(config *rest.Config) (c *Controller, resync func()) {
	w.Helper()
	c, _ = startController(w, kubernetes.NewForConfigOrDie(config), versioned.NewForConfigOrDie(config), w.namespace, 5, io.Discard)
	return c, func() {
		w.Helper()
		c.resync(w)
	}
}

func (c *Controller) resync(t testing.TB) {
	t.Helper()
	objects, err := c.databaseLister.List(labels.Everything())
	if err != nil {
		t.Fatal(err)
	}
	before := c.syncs.Load()
	for _, d := range objects {
		c.queue.Add(cache.MetaObjectToName(d))
	}
	for deadline := time.Now().Add(time.Minute); c.syncs.Load() < before+int64(len(objects)) || !c.idle(); {
		if time.Now().After(deadline) {
			t.Fatal("a resync does not end")
		}
		<-time.After(time.Millisecond)
	}
}

func (c *Controller) idle() bool { return c.queue.Len() == 0 && c.processing.Load() == 0 }

// failing returns the keys that wait for a retry because their last sync has failed.
func (c *Controller) failing() []cache.ObjectName {
	return slices.DeleteFunc(c.queue.Waiting(), func(key cache.ObjectName) bool { return c.queue.NumRequeues(key) == 0 })
}

// quiet waits until the controller has had nothing to do for a while, and forgets the requests up to then.
func (w *world) quiet(c *Controller, counted *requests) {
	w.Helper()
	since, syncs := time.Now(), int64(-1)
	until(w, "nothing to do for half a second", func(context.Context) (bool, error) {
		if now := c.syncs.Load(); now != syncs || !c.idle() {
			since, syncs = time.Now(), now
		}
		return time.Since(since) > 500*time.Millisecond, nil
	}, func(quiet bool) bool { return quiet })
	counted.take()
}
