// A controller of DatabaseManagers with controller-runtime. It does nothing yet.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the cluster") // controller-runtime has a flag of that name, for another set
	elect := flag.Bool("leader-elect", false, "write only as long as it has the Lease (stage 12)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetLogger(klog.Background())
	file := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: *kubeconfig}, nil)
	namespace, _, err := file.Namespace()
	var config *rest.Config
	if err == nil {
		config, err = file.ClientConfig()
	}
	if err == nil {
		err = run(ctx, config, namespace, *elect)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run works in a namespace, until ctx ends.
func run(ctx context.Context, config *rest.Config, namespace string, elect bool) error {
	if err := dbv1alpha1.Install(scheme.Scheme); err != nil {
		return err
	}
	config.QPS = -1 // client-go would wait after 5 requests a second; the server has limits of its own
	m, err := manager.New(config, manager.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		return err
	}
	_ = elect // see manager.Options
	err = builder.ControllerManagedBy(m).For(&dbv1alpha1.DatabaseManager{}).Complete(&reconciler{m.GetClient()})
	if err != nil {
		return err
	}
	return m.Start(ctx)
}

// reconciler has the client that reads from the manager's cache.
type reconciler struct{ client client.Client }

// Reconcile is called for each DatabaseManager that has changed. From here on it is yours.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}
