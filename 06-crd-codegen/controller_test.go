package main

import (
	"context"
	"io"
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
	"example.com/client-go-workbook/internal/testkit"
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
) (c *Controller, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	databaseFactory := newDatabaseFactory(databases, selection{namespace: namespace})
	ours := labels.SelectorFromSet(labels.Set{managedByLabel: fieldManager})
	childFactory := newFactory(client, selection{namespace: namespace, labels: ours})
	c, err := NewController(client, databases, childFactory, databaseFactory, &record.FakeRecorder{}, program.NewPrinter(out))
	if err != nil {
		t.Fatal(err)
	}
	c.drainFor = 20 * time.Second
	databaseFactory.StartWithContext(ctx)
	childFactory.StartWithContext(ctx)
	var group sync.WaitGroup
	group.Go(func() { c.Run(ctx, context.WithoutCancel(ctx), workers) })
	stop = func() {
		cancel()
		group.Wait()
		databaseFactory.Shutdown()
		childFactory.Shutdown()
	}
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

// quiet waits until the controller has had nothing to do for half a second, and discards the requests up to then.
func (e *env) quiet(c *Controller, counted *requests) {
	e.Helper()
	since, syncs := time.Now(), int64(-1)
	testkit.Await(e, "nothing to do for half a second", func() bool {
		if now := c.syncs.Load(); now != syncs || !c.idle() {
			since, syncs = time.Now(), now
		}
		return time.Since(since) > 500*time.Millisecond
	}, &syncs)
	counted.take()
}
