// Chapter 4: the workqueue, which stands between what happens and who does something about it.
//
// An informer's handlers put the names of changed pods into a queue, workers take them out and look up in the
// informer's store how the pod is now. The queue merges what comes faster than it is worked off, brings back
// what failed, each time later, and keeps one pod from being worked on twice at once.
//
// Read in this order: main.go, handler.go (filling the queue), controller.go (working it off), backoff.go (what
// failed), drain.go (the end). informer.go is chapter 3's. trouble.go and burst.go make work harder on demand,
// metrics.go measures it.
package main

import (
	"context"
	"errors"
	"net"
	"os"
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
	s := selection{labels: labels.Everything()}
	p.Flags.StringVarP(&s.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.FuncP("selector", "l", "label selector, such as app=nginx", func(value string) (err error) {
		s.labels, err = labels.Parse(value)
		return err
	})
	workers := 1
	p.Flags.Func("workers", "how many pods to sync at once (default 1)", atLeastOne(&workers))
	drainFor := p.Flags.Duration("drain", 20*time.Second, "how long to go on with queued pods after SIGTERM or Ctrl-C")
	var t trouble
	p.Flags.DurationVar(&t.work, "work", 0, "let each sync take this time")
	p.Flags.Func("fail-rate", "let this share of the syncs fail, from 0 to 1", func(value string) (err error) {
		t.failRate, err = strconv.ParseFloat(value, 64)
		if err != nil || !(t.failRate >= 0 && t.failRate <= 1) {
			return errors.New("it takes a number from 0 to 1")
		}
		return nil
	})
	p.Flags.Func("fail-key", "let each sync of this pod fail, such as nginx/nginx-1", parseName(&t.failKey))
	b := burst{key: cache.NewObjectName("nginx", "nginx-1")}
	p.Flags.Func("burst", "update a pod so many times, as fast as the server takes it", func(value string) error {
		p.Writes()
		return atLeastOne(&b.updates)(value)
	})
	p.Flags.Func("burst-key", "the pod that --burst updates (default nginx/nginx-1)", parseName(&b.key))
	var metrics net.Listener
	p.Flags.Func("metrics", "serve the queue's metrics to Prometheus at this address, such as 127.0.0.1:8080", func(value string) (err error) {
		// Already here: a port that is taken should stop the program before it has begun with anything.
		metrics, err = net.Listen("tcp", value)
		return err
	})

	p.Run(func(ctx context.Context, config *rest.Config) error {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		if err := program.CheckNamespace(ctx, clientset, s.namespace); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		factory := newFactory(clientset, s)
		defer factory.Shutdown() // waits for the informers,
		defer cancel()           // which this ends first

		out := printer{out: os.Stdout}
		retries := newBackoff()
		queueConfig := workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{}
		if metrics != nil {
			queueConfig.Name = queueName // a queue without a name is not measured
			defer serveMetrics(metrics)()
			out.line("METRICS", "http://%s/metrics", metrics.Addr())
		}
		queue := workqueue.NewTypedRateLimitingQueueWithConfig(retries, queueConfig)
		informer := factory.Core().V1().Pods().TypedInformer()
		handled, err := informer.AddTypedEventHandler(podHandler(out, queue))
		if err != nil {
			return err
		}
		controller := NewController(queue, informer.GetIndexer(), handled, retries, out)
		controller.drainFor = *drainFor
		b.indexer = informer.GetIndexer()
		controller.syncHandler = b.around(t.around(controller.syncHandler))

		// Let's suppose that we knew of a pod on our last run. The first list doesn't have it, so the informer
		// tells us of its end, as it does after every gap in the watch.
		if s.namespace == "" || s.namespace == metav1.NamespaceDefault {
			mypod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "mypod"}}
			if err := informer.GetIndexer().Add(mypod); err != nil {
				return err
			}
		}

		factory.StartWithContext(ctx)
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error {
			controller.Run(ctx, workers)
			return nil
		})
		if b.updates > 0 && cache.WaitFor(ctx, "", handled.HasSyncedChecker()) {
			group.Go(func() error { return b.run(ctx, clientset, out) })
		}
		err = group.Wait()
		if metrics != nil {
			out.line("METRICS", "%s", metricsSummary(queueName))
		}
		return err
	})
}

func atLeastOne(n *int) func(string) error {
	return func(value string) (err error) {
		*n, err = strconv.Atoi(value)
		if err != nil || *n < 1 {
			return errors.New("it takes a number, 1 or more")
		}
		return nil
	}
}

func parseName(name *cache.ObjectName) func(string) error {
	return func(value string) (err error) {
		*name, err = cache.ParseObjectName(value)
		if err == nil && name.Namespace == "" {
			err = errors.New("it takes NAMESPACE/NAME")
		}
		return err
	}
}
