// Chapter 4: the workqueue, which stands between what happens and who does something about it.
//
// An informer's handlers put the names of changed pods into a queue, workers take them out and look up in the
// informer's store how the pod is now. The queue merges what comes faster than it is worked off, brings back
// what failed, each time later, and keeps one pod from being worked on twice at once.
//
// Read in this order: main.go, handler.go (filling the queue), controller.go (working it off), backoff.go (what
// failed), drain.go (the end). trouble.go and burst.go make work harder on demand, metrics.go measures it. informer.go,
// transform.go and watcherror.go are chapter 3's.
package main

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/program"
)

func main() {
	p := program.New("04-workqueue")
	c := chapter{selection: selection{labels: labels.Everything()}, out: p.Out, workers: 1}
	p.Flags.StringVarP(&c.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.FuncP("selector", "l", "label selector, such as app=nginx", program.LabelSelector(&c.labels))
	p.Flags.Func("workers", "how many pods to sync at once (default 1)", program.AtLeastOne(&c.workers))
	p.Flags.DurationVar(&c.drainFor, "drain", 20*time.Second, "how long to go on with queued pods after SIGTERM or Ctrl-C")
	p.Flags.Func("metrics", "serve the queue's metrics to Prometheus at this address, such as 127.0.0.1:8080", func(value string) (err error) {
		// Already here: a port that is taken should stop the program before it has begun with anything.
		c.metrics, err = net.Listen("tcp", value)
		return err
	})
	c.burst.key = cache.NewObjectName("nginx", "nginx-1")
	p.Flags.Func("burst", "update a pod so many times, as fast as the server takes it", func(value string) error {
		p.Writes()
		return program.AtLeastOne(&c.burst.updates)(value)
	})
	p.Flags.Func("burst-key", "the pod that --burst updates (default nginx/nginx-1)", program.ObjectName(&c.burst.key))
	p.Flags.DurationVar(&c.trouble.work, "work", 0, "break it: let each sync take this time")
	p.Flags.Func("fail-rate", "break it: let this share of the syncs fail, from 0 to 1", func(value string) (err error) {
		c.trouble.failRate, err = strconv.ParseFloat(value, 64)
		if err != nil || !(c.trouble.failRate >= 0 && c.trouble.failRate <= 1) {
			return errors.New("it takes a number from 0 to 1")
		}
		return nil
	})
	p.Flags.Func("fail-key", "break it: let each sync of this pod fail, such as nginx/nginx-1", program.ObjectName(&c.trouble.failKey))

	p.Run(func(ctx context.Context, config *rest.Config) error {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		if err := program.CheckNamespace(ctx, clientset, c.namespace); err != nil {
			return err
		}
		return c.run(ctx, clientset)
	})
}

// chapter is what the flags ask for.
type chapter struct {
	selection
	out      *program.Printer
	workers  int
	drainFor time.Duration
	metrics  net.Listener // nil measures nothing
	burst    burst
	trouble  trouble
}

// run syncs pods until ctx ends.
func (c *chapter) run(ctx context.Context, clientset kubernetes.Interface) error {
	ctx, cancel := context.WithCancelCause(ctx)
	// The store stays up to date during the drain.
	informing, stopInforming := context.WithCancel(context.WithoutCancel(ctx))
	factory := newFactory(clientset, c.selection)
	defer func() {
		cancel(nil)
		stopInforming()    // ends the informer,
		factory.Shutdown() // which waits for it
	}()
	if err := handleWatchErrors(c.out, cancel, factory.Core().V1().Pods().Informer()); err != nil {
		return err
	}
	retries := newBackoff()
	queueConfig := workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{}
	if c.metrics != nil {
		queueConfig.Name = queueName // a queue without a name is not measured
		defer serveMetrics(c.metrics)()
		c.out.Line("METRICS", "http://%s/metrics", c.metrics.Addr())
	}
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(retries, queueConfig)
	informer := factory.Core().V1().Pods().TypedInformer()
	handled, err := informer.AddTypedEventHandler(podHandler(c.out, queue))
	if err != nil {
		return err
	}
	controller := NewController(queue, informer.GetIndexer(), handled, retries, c.out)
	controller.drainFor = c.drainFor
	c.burst.indexer = informer.GetIndexer()
	controller.syncHandler = c.burst.around(c.trouble.around(controller.syncHandler))

	// Let's suppose that we knew of a pod on our last run. The first list doesn't have it, so the informer tells us
	// of its end, as it does after every gap in the watch.
	if c.namespace == "" || c.namespace == metav1.NamespaceDefault {
		mypod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "mypod"}}
		if err := informer.GetIndexer().Add(mypod); err != nil {
			return err
		}
	}

	factory.StartWithContext(informing)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		controller.Run(ctx, c.workers)
		return deniedCause(ctx)
	})
	if c.burst.updates > 0 && cache.WaitFor(ctx, "", handled.HasSyncedChecker()) {
		group.Go(func() error { return c.burst.run(ctx, clientset, c.out) })
	}
	err = group.Wait()
	if c.metrics != nil {
		c.out.Line("METRICS", "%s", metricsSummary(queueName))
	}
	return err
}
