// Chapter 5: a controller that writes. The queue of chapter 4 now drives a reconcile.
//
// A ConfigMap labelled workbook/database=true asks for a database: dbtype, deploymentName, replicas. The controller
// makes the Deployment for it, keeps it as asked for whatever others do to it, and writes only what differs.
//
// Read in this order: main.go, database.go (what is asked for, and the Deployment for it), reconcile.go,
// controller.go (what becomes of errors), events.go (what people are told), handler.go and informer.go (who wakes
// whom), election.go (one of several), serve.go. backoff.go, drain.go and watcherror.go are nearly chapter 4's.
package main

import (
	"context"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/consistency"
	"example.com/client-go-workbook/internal/fence"
	"example.com/client-go-workbook/internal/program"
)

func main() {
	p := program.New("05-controller")
	p.Writes()
	s := settings{workers: 2, slowRetry: 30 * time.Second, leaseDuration: 15 * time.Second}
	p.Flags.StringVarP(&s.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.DurationVar(&s.resync, "resync", 0, "hand every object in the store to the handlers again after this time (0: never)")
	p.Flags.Func("workers", "how many ConfigMaps to sync at once (default 2)", program.AtLeastOne(&s.workers))
	p.Flags.DurationVar(&s.drainFor, "drain", 20*time.Second, "how long to go on with queued ConfigMaps after SIGTERM or Ctrl-C")
	p.Flags.Float32Var(&s.qps, "qps", 0, "let the controller make no more requests a second than this (0: no limit)")
	p.Flags.BoolVar(&s.leaderElect, "leader-elect", false, "work only while no other process does, by a Lease in the watched namespace (or default)")
	p.Flags.Func("lease-duration", "how long others wait for a leader that has died, in whole seconds (default 15s)", fence.LeaseDuration(&s.leaseDuration))
	p.Flags.Func("listen", "serve /metrics, /healthz and /readyz at this address, such as 127.0.0.1:8080", func(value string) (err error) {
		// Already here: a port that is taken should stop the program before it has begun with anything.
		s.listener, err = net.Listen("tcp", value)
		return err
	})
	out := p.Out
	p.Run(func(ctx context.Context, config *rest.Config) error {
		if err := run(ctx, config, s, out); err != nil {
			return err
		}
		out.Line("REQUESTS", "%d in all", p.Wire.Requests())
		return nil
	})
}

// settings are what the flags say.
type settings struct {
	namespace     string
	resync        time.Duration
	workers       int
	slowRetry     time.Duration
	drainFor      time.Duration
	qps           float32
	leaderElect   bool
	leaseDuration time.Duration
	listener      net.Listener
}

func run(ctx context.Context, config *rest.Config, s settings, out *program.Printer) error {
	if s.qps < 0 {
		return program.Usagef("--qps takes a number from 0")
	}
	leaseConfig, writes := config, &fence.Fence{}
	if s.leaderElect {
		config = writes.Config(config) // what is written from here on, is written as the leader
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := program.CheckNamespace(ctx, clientset, s.namespace); err != nil {
		return err
	}
	// What the controller does goes through a client of its own. With a limit on the same one, events and the
	// lease's renewal would stand in its line.
	limited := rest.CopyConfig(config)
	if s.qps > 0 {
		limited.QPS, limited.Burst = s.qps, rest.DefaultBurst // and 10 requests at once, after a pause
	}
	client, err := kubernetes.NewForConfig(limited)
	if err != nil {
		return err
	}

	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	// The stores go on during the drain, and end after it.
	informing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	// A factory has one selection for all its informers. We want some of the ConfigMaps, but all Deployments: one
	// whose name is asked for may be anybody's.
	asked := labels.SelectorFromSet(labels.Set{"workbook/database": "true"})
	wishes := newFactory(client, selection{namespace: s.namespace, labels: asked, resync: s.resync})
	world := newFactory(client, selection{namespace: s.namespace, labels: labels.Everything()})
	defer wishes.Shutdown() // waits for the informers,
	defer world.Shutdown()
	defer cancel() // which this ends first

	if err := handleWatchErrors(out, refuse, wishes.Core().V1().ConfigMaps().Informer(), world.Apps().V1().Deployments().Informer()); err != nil {
		return err
	}
	retries := newBackoff()
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(retries, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: queueName})
	configMaps, err := wishes.Core().V1().ConfigMaps().TypedInformer().AddTypedEventHandler(configMapHandler(queue))
	if err != nil {
		return err
	}
	deploymentInformer := world.Apps().V1().Deployments().TypedInformer()
	if err := deploymentInformer.AddTypedIndexers(ownerIndex); err != nil {
		return err
	}
	deployments, err := deploymentInformer.AddTypedEventHandler(deploymentHandler(queue))
	if err != nil {
		return err
	}

	broadcaster := record.NewBroadcaster(record.WithContext(informing))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clientset.CoreV1().Events("")})
	controller := &Controller{
		client:       client,
		configMaps:   wishes.Core().V1().ConfigMaps().Lister(),
		deployments:  deploymentInformer.GetTypedIndexer(),
		selector:     asked,
		queue:        queue,
		informers:    []cache.DoneChecker{configMaps.HasSyncedChecker(), deployments.HasSyncedChecker()},
		backoff:      retries,
		staleBackoff: consistency.NewBackoff(),
		consistency:  consistency.New(),
		slowRetry:    s.slowRetry,
		drainFor:     s.drainFor,
		teller: teller{
			recorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: fieldManager}),
			out:      out,
			told:     map[cache.ObjectName]string{},
		},
	}
	controller.syncHandler = controller.reconcile

	watchdog := leaderelection.NewLeaderHealthzAdaptor(s.leaseDuration)
	if s.listener != nil {
		defer serve(s.listener, watchdog.Check, func() bool {
			return configMaps.HasSynced() && deployments.HasSynced()
		})()
		out.Line("LISTENING", "http://%s", s.listener.Addr())
	}

	wishes.StartWithContext(informing)
	world.StartWithContext(informing)
	if !s.leaderElect {
		controller.Run(ctx, context.WithoutCancel(ctx), s.workers)
		return deniedCause(ctx)
	}
	e := election{config: leaseConfig, fence: writes, namespace: s.namespace, duration: s.leaseDuration, watchdog: watchdog, out: out}
	if e.namespace == "" {
		e.namespace = metav1.NamespaceDefault
	}
	if err := e.run(ctx, func(ctx, leased context.Context) { controller.Run(ctx, leased, s.workers) }); err != nil {
		return err
	}
	return deniedCause(ctx)
}
