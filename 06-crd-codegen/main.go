// Chapter 6: a controller for a kind of our own, DatabaseManager, with generated clients.
//
// Chapter 5 read wishes from ConfigMaps. Here they have a schema: Go types (pkg/apis), from which the CRD (crd) and
// the clients (pkg/generated) are generated. For each DatabaseManager the controller keeps a Deployment, a Service, a
// Secret and maybe a volume claim as they should be, and tells in its status how things stand.
//
// Read in this order: pkg/apis, main.go, reconcile.go, children.go (which children, and their desired state), apply.go
// (writing only what differs), replace.go (what an apply cannot undo), status.go, pods.go (why pods are not ready),
// release.go (the end of a DatabaseManager), handler.go and informer.go (which event enqueues which object).
// controller.go is chapter 5's, for more kinds; worker.go, drain.go and
// watcherror.go are the same.
package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbscheme "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/scheme"
	"example.com/client-go-workbook/internal/consistency"
	"example.com/client-go-workbook/internal/election"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/serve"
)

const (
	controllerName = "DatabaseManager"         // in the log
	queueName      = "databasemanagers"        // in the metrics
	leaseName      = "workbook-06-crd-codegen" // of the Lease by which the leader is elected
)

func main() {
	p := program.New("06-crd-codegen")
	p.Writes()
	s := settings{workers: 5}
	p.Flags.StringVarP(&s.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.DurationVar(&s.resync, "resync", 0, "hand every object in the store to the handlers again after this time (0: never)")
	p.Flags.Func("workers", "how many DatabaseManagers to sync at once (default 5)", program.AtLeastOne(&s.workers))
	p.Flags.DurationVar(&s.drainFor, "drain", 20*time.Second, "how long to go on with queued DatabaseManagers after SIGTERM or Ctrl-C")
	s.election.AddFlags(p.Flags)
	s.server.AddFlags(p.Flags)
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
	namespace string
	resync    time.Duration
	workers   int
	drainFor  time.Duration
	election  election.Options
	server    serve.Server
}

func run(ctx context.Context, config *rest.Config, s settings, out *program.Printer) error {
	ctx = program.WithoutBodies(ctx) // in some of them is a password
	elector := election.New(config, cache.NewObjectName(s.namespace, leaseName), s.election, out)
	config = elector.Config() // its clients write only while this process leads
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	databases, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := program.CheckNamespace(ctx, clientset, s.namespace); err != nil {
		return err
	}
	// An informer of a kind that the server doesn't know would wait for it, and only the log would tell.
	_, err = databases.CoolopsV1alpha1().DatabaseManagers(s.namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsNotFound(err) {
		return program.Usagef("the server has no databasemanagers.coolops.cn: install the CRD with `scripts/kubectl apply -f 06-crd-codegen/crd`")
	}
	if err != nil {
		return err
	}

	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	// The stores go on during the drain, and end after it.
	informing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	databaseInformers := newDatabaseFactory(databases, selection{namespace: s.namespace, labels: labels.Everything(), resync: s.resync})
	// Only what we have made: the Deployments and above all the Secrets of others are none of our business.
	ours := labels.SelectorFromSet(labels.Set{managedByLabel: fieldManager})
	childInformers := newFactory(clientset, selection{namespace: s.namespace, labels: ours})
	defer databaseInformers.Shutdown() // waits for the informers,
	defer childInformers.Shutdown()
	defer cancel() // which this ends first

	broadcaster := record.NewBroadcaster(record.WithContext(informing))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clientset.CoreV1().Events("")})
	// The generated scheme knows our kind. Client-go's does not, and events about it would be dropped.
	recorder := broadcaster.NewRecorder(dbscheme.Scheme, corev1.EventSource{Component: fieldManager})
	controller, err := NewController(clientset, databases, childInformers, databaseInformers, recorder, out)
	if err != nil {
		return err
	}
	controller.drainFor = s.drainFor
	if err := handleWatchErrors(out, refuse, controller.informers...); err != nil {
		return err
	}

	defer s.server.Start(out, elector.Healthz, controller.hasSynced...)()

	consistency.LogIfOff(klog.FromContext(ctx))
	databaseInformers.StartWithContext(informing)
	childInformers.StartWithContext(informing)
	if err := elector.Run(ctx, func(ctx, leaseCtx context.Context) { controller.Run(ctx, leaseCtx, s.workers) }); err != nil {
		return err
	}
	return deniedCause(ctx)
}
