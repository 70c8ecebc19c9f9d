// Chapter 6's controller once more, with controller-runtime: the same custom resource, the same children, the same promises.
//
// What is desired of a child and what the status says (../database), and what is done with a child (../children), stand once, and both
// programs use them. What is here takes the place of the rest.
//
// Read in this order: main.go (manager and cache), controller.go (which event enqueues what, one sync, and what becomes of its error),
// children.go (how this program reads and writes), status.go (writing the status).
package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/election"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/program"
)

// leaseName is the one of chapter 6's program: of the two, only one writes.
const leaseName = "workbook-06-crd-codegen"

// options holds what the flags say.
type options struct {
	namespace       string
	workers         int
	resync          time.Duration
	metrics, health string
	asItComes       bool
	election        election.Options
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	o.workers = 5
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	flags.Func("workers", "how many DatabaseManagers to sync at once (default 5)", program.AtLeastOne(&o.workers))
	flags.DurationVar(&o.resync, "resync", 10*time.Hour, "reconcile all DatabaseManagers again after about this time")
	flags.StringVar(&o.metrics, "metrics-bind-address", "0", "serve /metrics at this address, such as 127.0.0.1:8080 (0: do not)")
	flags.StringVar(&o.health, "health-probe-bind-address", "0", "serve /healthz and /readyz at this address (0: do not)")
	flags.BoolVar(&o.asItComes, "as-it-comes", false,
		"break it: leave controller-runtime's options as they are: no wait for its own writes, a copy at each read, no warm-up, no fence")
	o.election.AddFlags(flags)
}

func main() {
	p, o := program.New("controller-runtime"), options{}
	p.Writes()
	o.addFlags(p.Flags)
	p.Run(func(ctx context.Context, config *rest.Config) error {
		if err := run(ctx, config, o, p.Out); err != nil {
			return err
		}
		p.Out.Line("REQUESTS", "%d in all", p.Wire.Requests())
		return nil
	})
}

// run reconciles until ctx ends.
func run(ctx context.Context, config *rest.Config, o options, out *program.Printer) error {
	ctx = program.WithoutBodies(ctx) // some of them contain a password
	logger := klog.FromContext(ctx)
	log.SetLogger(logger)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := dbv1alpha1.Install(scheme.Scheme); err != nil {
		return err
	}
	// The manager has an election, and no fence. With this lock, and for the manager's clients, it has one.
	elector := election.New(config, toolscache.NewObjectName(o.namespace, leaseName), o.election, out)
	lock, err := elector.Lock(func() { cancel(election.ErrLost) })
	if err != nil {
		return err
	}
	if o.asItComes {
		lock = nil // the manager makes its own
	} else {
		config = elector.Config()
	}
	leaseDuration, renewDeadline, retryPeriod := o.election.LeaseDuration, o.election.RenewDeadline(), o.election.RetryPeriod()
	reads := &client.CacheOptions{EnableReadYourWritesConsistency: new(!o.asItComes)}
	m, err := manager.New(config, manager.Options{
		Logger:                              logger,
		Cache:                               cacheOptions(o),
		Client:                              client.Options{FieldOwner: database.FieldManager, Cache: reads},
		Metrics:                             metricsserver.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:              o.health,
		LeaderElection:                      o.election.Enabled,
		LeaderElectionID:                    leaseName,
		LeaderElectionNamespace:             cmp.Or(o.election.Namespace, o.namespace, metav1.NamespaceDefault),
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true, // after the workers are done; and the process ends then
		LeaseDuration:                       &leaseDuration,
		RenewDeadline:                       &renewDeadline,
		RetryPeriod:                         &retryPeriod,
		GracefulShutdownTimeout:             new(20 * time.Second), // Kubernetes sends SIGKILL 30 s after SIGTERM
	})
	if err != nil {
		return err
	}
	ready := func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the first lists are not there yet")
		}
		return nil
	}
	err = errors.Join(m.AddHealthzCheck("ping", healthz.Ping), m.AddReadyzCheck("caches", ready), addController(ctx, m, o, out))
	if err != nil {
		return err
	}
	err = m.Start(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, election.ErrLost) {
		return cause
	}
	return err
}

// cacheOptions says which objects the informers list and watch, and what the stores keep of them. An informer starts when a source or a
// read first asks for its kind.
func cacheOptions(o options) cache.Options {
	// Only what this controller has created: it has no reason to read the Deployments, and above all the Secrets, of others.
	ours := labels.SelectorFromSet(labels.Set{database.ManagedByLabel: database.FieldManager})
	c := cache.Options{
		DefaultLabelSelector: ours,
		ByObject: map[client.Object]cache.ByObject{
			&dbv1alpha1.DatabaseManager{}: {Label: labels.Everything(), SyncPeriod: &o.resync},
			&corev1.Pod{}:                 {Transform: rollout.StripPod},
		},
		// A read of a kind that nothing watches would start an informer for all of its objects, without a word.
		ReaderFailOnMissingInformer:  true,
		DefaultUnsafeDisableDeepCopy: new(!o.asItComes), // then what is read is the store's object, and must not be changed
	}
	if o.namespace != "" {
		c.DefaultNamespaces = map[string]cache.Config{o.namespace: {}}
	}
	return c
}
