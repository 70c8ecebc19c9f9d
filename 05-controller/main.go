// Chapter 5: a controller that writes. The queue is chapter 4's, and what a worker does with a key is new: it reconciles.
//
// A ConfigMap labelled workbook/database=true describes a database: dbtype, deploymentName, replicas. That is the desired
// state. The controller creates the Deployment for it, undoes what others change in it, and writes only what differs.
//
// Read in this order: main.go, database.go (the desired state), reconcile.go (comparing it with the actual state),
// controller.go (what becomes of errors), reporter.go (what users see), handler.go and informer.go (which event enqueues
// which key), worker.go and drain.go (chapter 4's), watcherror.go (chapter 2's), picture.go (--picture, which is for
// seeing only).
package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/election"
	"example.com/client-go-workbook/internal/controller/serve"
	"example.com/client-go-workbook/internal/picture"
	"example.com/client-go-workbook/internal/program"
)

const (
	controllerName = "database"               // in the log
	queueName      = "databases"              // in the metrics
	leaseName      = "workbook-05-controller" // of the Lease by which the leader is elected
	fieldManager   = "workbook"               // the server records it for each field that the controller sets
)

func main() {
	p := program.New("05-controller")
	p.Writes()
	o := options{workers: 2, slowRetry: 30 * time.Second}
	p.Flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.DurationVar(&o.resync, "resync", 0, "hand every ConfigMap in the store to the handler again after this time (0: never)")
	p.Flags.Func("workers", "how many ConfigMaps to sync at once (default 2)", program.AtLeastOne(&o.workers))
	p.Flags.DurationVar(&o.drainFor, "drain", 20*time.Second, "how long to go on with queued ConfigMaps after SIGTERM or Ctrl-C")
	o.election.AddFlags(p.Flags)
	o.server.AddFlags(p.Flags)
	o.picture = picture.New(p)
	p.Run(func(ctx context.Context, config *rest.Config) error {
		if err := run(ctx, config, o, p.Out); err != nil {
			return err
		}
		p.Out.Line("REQUESTS", "%d in all", p.Wire.Requests())
		return nil
	})
}

// options holds what the flags say.
type options struct {
	namespace string
	resync    time.Duration
	workers   int
	slowRetry time.Duration
	drainFor  time.Duration
	election  election.Options
	server    serve.Server
	picture   *picture.Picture
}

// run reconciles until ctx ends. It creates its clients itself, from the elector's configuration.
func run(ctx context.Context, config *rest.Config, o options, out *program.Printer) error {
	elector := election.New(config, cache.NewObjectName(o.namespace, leaseName), o.election, out)
	clientset, err := kubernetes.NewForConfig(elector.Config()) // it writes only while this process leads
	if err != nil {
		return err
	}
	if err := program.CheckNamespace(ctx, clientset, o.namespace); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	informerCtx, stopInformers := context.WithCancel(context.WithoutCancel(ctx)) // so the stores are up to date during the drain
	// A factory has one selector for all its informers. Of the ConfigMaps we want those that describe a database, but all
	// Deployments: one that has the desired name can be anybody's.
	configMapFactory := newFactory(clientset, selection{namespace: o.namespace, labels: databaseSelector, resync: o.resync})
	deploymentFactory := newFactory(clientset, selection{namespace: o.namespace, labels: labels.Everything()})
	defer func() {
		cancel(nil)
		stopInformers()
		configMapFactory.Shutdown() // waits for the informers
		deploymentFactory.Shutdown()
	}()
	if err := traceInformers(o.picture, configMapFactory, deploymentFactory, clientset, o.namespace); err != nil {
		return err
	}
	configMaps, deployments := configMapFactory.Core().V1().ConfigMaps(), deploymentFactory.Apps().V1().Deployments()
	controller, err := NewController(clientset, configMaps, deployments, newRecorder(informerCtx, clientset), out)
	if err != nil {
		return err
	}
	controller.drainFor, controller.slowRetry = o.drainFor, o.slowRetry
	if err := handleWatchErrors(out, cancel, controller.informers...); err != nil {
		return err
	}
	stopPicture, err := showController(ctx, o.picture, controller, elector.Leader, o.namespace, out)
	defer stopPicture()
	if err != nil {
		return err
	}
	defer o.server.Start(out, elector.Healthz, controller.hasSynced...)()

	consistency.LogIfDisabled(klog.FromContext(ctx))
	configMapFactory.StartWithContext(informerCtx)
	deploymentFactory.StartWithContext(informerCtx)
	err = elector.Run(ctx, func(leaderCtx, leaseCtx context.Context) { controller.Run(leaderCtx, leaseCtx, o.workers) })
	if err != nil {
		return err
	}
	return deniedCause(ctx)
}

// newRecorder returns a recorder that writes events in the background. When ctx ends, it stops, and nobody has to shut it down.
func newRecorder(ctx context.Context, clientset kubernetes.Interface) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clientset.CoreV1().Events("")})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: fieldManager})
}
