// Chapter 6: a controller for a custom resource, DatabaseManager, with generated clients.
//
// In chapter 5 the desired state was in ConfigMaps. Here it has a schema: Go types (pkg/apis), from which the CRD (crd)
// and the clients (pkg/generated) are generated. For each DatabaseManager the controller keeps a Deployment, a Service, a
// Secret and, if asked for, a PersistentVolumeClaim in their desired state, and reports the actual state in the status.
//
// Read in this order: pkg/apis/databasemanager/v1alpha1/types.go (what a user can ask for), main.go, reconcile.go (one
// sync), children/children.go (all children, in order), children/kinds.go (what differs between them), children/child.go
// (one child: read, decide, ask, write), database/next.go (what to do with it), database/database.go (its desired
// state), database/adopt.go (what another one has left), database/finalizer.go, database/status.go (conditions),
// children.go (how this program reads and writes), status.go (writing the status), handler.go (which event enqueues which
// key), informer.go, controller.go (its parts, and what becomes of errors), worker.go and drain.go (chapter 4's),
// watcherror.go (chapter 2's), picture.go (--picture, which is for seeing only).
package main

import (
	"cmp"
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

	"example.com/client-go-workbook/06-crd-codegen/database"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbscheme "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/scheme"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/election"
	"example.com/client-go-workbook/internal/controller/serve"
	"example.com/client-go-workbook/internal/picture"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/shard"
)

const (
	controllerName = "DatabaseManager"         // in the log
	queueName      = "databasemanagers"        // in the metrics
	leaseName      = "workbook-06-crd-codegen" // of the Lease by which the leader is elected
)

func main() {
	p := program.New("06-crd-codegen")
	p.Writes()
	o := options{workers: 5}
	p.Flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.Func("shard", "only some namespaces, such as 2/3:CUT,CUT: the second of three (docs/questions)", o.shard.ParseNamespaces)
	p.Flags.DurationVar(&o.resync, "resync", 0, "hand every object in the store to the handlers again after this time (0: never)")
	p.Flags.Func("workers", "how many DatabaseManagers to sync at once (default 5)", program.AtLeastOne(&o.workers))
	p.Flags.DurationVar(&o.drainFor, "drain", 20*time.Second, "how long to go on with queued DatabaseManagers after SIGTERM or Ctrl-C")
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
	shard     shard.Shard
	resync    time.Duration
	workers   int
	drainFor  time.Duration
	election  election.Options
	server    serve.Server
	picture   *picture.Picture
}

// run reconciles until ctx ends. It creates its clients itself, from the elector's configuration.
func run(ctx context.Context, config *rest.Config, o options, out *program.Printer) error {
	ctx = program.WithoutBodies(ctx) // some of them contain a password
	config = consistency.RelistAfterOutage(config)
	elector := election.New(config, cache.NewObjectName(o.namespace, leaseName+o.shard.Suffix()), o.election, out)
	clientset, err := kubernetes.NewForConfig(elector.Config()) // it writes only while this process leads
	if err != nil {
		return err
	}
	databases, err := versioned.NewForConfig(elector.Config())
	if err != nil {
		return err
	}
	if err := checkServer(ctx, clientset, databases, o.namespace); err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	informerCtx, stopInformers := context.WithCancel(context.WithoutCancel(ctx)) // so the stores are up to date during the drain
	all := selection{namespace: o.namespace, labels: labels.Everything(), shard: o.shard, resync: o.resync}
	databaseFactory := newDatabaseFactory(databases, all)
	// Only what this controller has created: it has no reason to read the Deployments, and above all the Secrets, of others.
	ours := labels.SelectorFromSet(labels.Set{database.ManagedByLabel: database.FieldManager})
	selected := selection{namespace: o.namespace, labels: ours, shard: o.shard}
	childFactory := newFactory(clientset, selected)
	defer func() {
		cancel(nil)
		stopInformers()
		databaseFactory.Shutdown() // waits for the informers
		childFactory.Shutdown()
	}()
	if err := traceInformers(o.picture, childFactory, databaseFactory, clientset, databases, all, selected); err != nil {
		return err
	}
	controller, err := NewController(clientset, databases, childFactory, databaseFactory, newRecorder(informerCtx, clientset), out)
	if err != nil {
		return err
	}
	controller.drainFor, controller.shard = o.drainFor, o.shard
	if err := handleWatchErrors(out, cancel, controller.informers...); err != nil {
		return err
	}
	controller.consistency.EndIfRestored(cancel, controller.informers...)
	stopPicture, err := showController(ctx, o.picture, controller, elector.Leader, o.namespace, out)
	defer stopPicture()
	if err != nil {
		return err
	}
	o.server.Shard = o.shard.Name()
	defer o.server.Start(out, controller.consistency.Healthz(elector.Healthz), controller.hasSynced...)()

	consistency.LogIfDisabled(klog.FromContext(ctx))
	databaseFactory.StartWithContext(informerCtx)
	childFactory.StartWithContext(informerCtx)
	err = elector.Run(ctx, func(leaderCtx, leaseCtx context.Context) { controller.Run(leaderCtx, leaseCtx, o.workers) })
	return cmp.Or(controller.consistency.Restored(), err, deniedCause(ctx))
}

// checkServer returns an error if the namespace or the CRD does not exist. An informer of a resource that the server does
// not know waits for it, and only the log shows that.
func checkServer(ctx context.Context, clientset kubernetes.Interface, databases versioned.Interface, namespace string) error {
	if err := program.CheckNamespace(ctx, clientset, namespace); err != nil {
		return err
	}
	_, err := databases.CoolopsV1alpha1().DatabaseManagers(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsNotFound(err):
		return program.Usagef("the server has no databasemanagers.coolops.cn: " +
			"install the CRD with `scripts/kubectl apply -f 06-crd-codegen/crd`")
	case apierrors.IsForbidden(err):
		return nil // it exists, and to watch it is enough
	}
	return err
}

// newRecorder returns a recorder that writes events in the background, until ctx ends. The generated scheme knows
// DatabaseManager. Client-go's does not: it would drop the events.
func newRecorder(ctx context.Context, clientset kubernetes.Interface) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clientset.CoreV1().Events("")})
	return broadcaster.NewRecorder(dbscheme.Scheme, corev1.EventSource{Component: database.FieldManager})
}
