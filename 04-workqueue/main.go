// Chapter 4: the workqueue, which separates event handlers from workers.
//
// An informer's handlers add the names of changed pods to a queue. Workers take them out, and look up in the informer's
// store how the pod is now. The queue merges events that come faster than the workers sync, brings back keys that have
// failed, each time later, and never gives one key to two workers at once.
//
// Read in this order: main.go, handler.go (filling the queue), controller.go (what a sync is), worker.go (emptying the
// queue), drain.go (the end), faults.go and burst.go (what makes syncs fail and merge), informer.go, transform.go and
// watcherror.go (chapter 3's), picture.go (--picture, which is for seeing only).
package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/controller/serve"
	"example.com/client-go-workbook/internal/picture"
	"example.com/client-go-workbook/internal/program"
)

const (
	controllerName = "Pod"  // in the log
	queueName      = "pods" // in the metrics
)

func main() {
	p := program.New("04-workqueue")
	o := options{
		selection: selection{labels: labels.Everything()},
		workers:   1,
		burstKey:  cache.NewObjectName("nginx", "nginx-1"),
	}
	p.Flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.FuncP("selector", "l", "label selector, such as app=nginx", program.LabelSelector(&o.labels))
	p.Flags.Func("workers", "how many pods to sync at once (default 1)", program.AtLeastOne(&o.workers))
	p.Flags.DurationVar(&o.drainFor, "drain", 20*time.Second, "how long to go on with queued pods after SIGTERM or Ctrl-C")
	o.server.AddFlags(p.Flags)
	o.picture = picture.New(p)
	p.Flags.Func("burst", "update a pod this number of times, as fast as the server takes it", func(value string) error {
		p.Writes()
		return program.AtLeastOne(&o.burstUpdates)(value)
	})
	p.Flags.Func("burst-key", "the pod that --burst updates (default nginx/nginx-1)", program.ObjectName(&o.burstKey))
	p.Flags.DurationVar(&o.faults.delay, "sync-delay", 0, "break it: let each sync take this time")
	p.Flags.Func("fail-rate", "break it: let this share of the syncs fail, from 0 to 1", func(value string) (err error) {
		o.faults.failRate, err = strconv.ParseFloat(value, 64)
		if err != nil || !(o.faults.failRate >= 0 && o.faults.failRate <= 1) {
			return errors.New("it takes a number from 0 to 1")
		}
		return nil
	})
	p.Flags.Func("fail-key", "break it: let each sync of this pod fail, such as nginx/nginx-1", program.ObjectName(&o.faults.failKey))

	p.Run(func(ctx context.Context, config *rest.Config) error {
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		if err := program.CheckNamespace(ctx, clientset, o.namespace); err != nil {
			return err
		}
		return run(ctx, clientset, o, p.Out)
	})
}

// options holds what the flags say.
type options struct {
	selection
	workers      int
	drainFor     time.Duration
	server       serve.Server
	picture      *picture.Picture
	burstKey     cache.ObjectName
	burstUpdates int
	faults       faults
}

// run syncs pods until ctx ends.
func run(ctx context.Context, clientset kubernetes.Interface, o options, out *program.Printer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	informerCtx, stopInformers := context.WithCancel(context.WithoutCancel(ctx)) // so the store is up to date during the drain
	factory := newFactory(clientset, o.selection)
	defer func() {
		cancel(nil)
		stopInformers()
		factory.Shutdown() // waits for the informers
	}()
	if err := traceInformer(o.picture, factory, clientset, o.selection); err != nil {
		return err
	}
	pods := factory.Core().V1().Pods()
	if err := handleWatchErrors(out, cancel, pods.Informer()); err != nil {
		return err
	}
	controller, err := NewController(pods, out)
	if err != nil {
		return err
	}
	controller.drainFor = o.drainFor
	burst := &burst{key: o.burstKey, updates: o.burstUpdates, indexer: controller.indexer, out: out}
	controller.syncHandler = burst.wrap(o.faults.wrap(controller.syncHandler))
	stopPicture, err := showController(ctx, o.picture, controller, o.namespace, out)
	defer stopPicture()
	if err != nil {
		return err
	}
	if err := addUnknownPod(controller.indexer, o.namespace); err != nil {
		return err
	}
	defer o.server.Start(out, nil, controller.hasSynced...)()

	factory.StartWithContext(informerCtx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return burst.run(ctx, clientset, controller.hasSynced) })
	group.Go(func() error {
		controller.Run(ctx, context.WithoutCancel(ctx), o.workers)
		return deniedCause(ctx)
	})
	return group.Wait()
}

// addUnknownPod adds a pod to the store that the server does not know, as if the program knew it from its last run. It is
// not in the first list, so the informer reports its deletion, as it does after every gap in the watch.
func addUnknownPod(store cache.Store, namespace string) error {
	if namespace != "" && namespace != metav1.NamespaceDefault {
		return nil
	}
	return store.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "mypod"}})
}
