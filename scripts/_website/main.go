// A controller of Websites: it keeps a Deployment and a Service for each one.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"example.com/website/generated/clientset/versioned"
	"example.com/website/generated/informers/externalversions"
	"example.com/website/internal/election"
)

func main() {
	kubeconfig := pflag.String("kubeconfig", "", "kubeconfig of the cluster (default: $KUBECONFIG, ~/.kube/config, or its pod's account)")
	namespace := pflag.String("namespace", "", "namespace to watch (default: all)")
	var elections election.Options
	elections.AddFlags(pflag.CommandLine)
	klog.InitFlags(nil)
	pflag.CommandLine.AddGoFlagSet(flag.CommandLine)
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	files := clientcmd.NewDefaultClientConfigLoadingRules()
	files.ExplicitPath = *kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(files, nil).ClientConfig()
	if err == nil {
		err = run(ctx, config, *namespace, elections)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run reconciles until ctx ends.
func run(ctx context.Context, config *rest.Config, namespace string, options election.Options) error {
	config.QPS = -1 // the API server limits clients itself, by priority and fairness
	elector := election.New(config, cache.ObjectName{Namespace: namespace, Name: "website-controller"}, options, printer{})
	config = elector.Config() // with it, a write fails while another process leads
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ownerClients, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	children := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	owners := externalversions.NewSharedInformerFactoryWithOptions(ownerClients, 0, externalversions.WithNamespace(namespace))
	c, err := newController(clients, ownerClients, owners.Website().V1alpha1().Websites(), children)
	if err != nil {
		return err
	}
	// The stores are up to date until the workers are done.
	informerCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		cancel()
		children.Shutdown()
		owners.Shutdown()
	}()
	children.StartWithContext(informerCtx)
	owners.StartWithContext(informerCtx)
	return elector.Run(ctx, c.run)
}

// printer logs what the election says.
type printer struct{}

func (printer) Line(word, format string, args ...any) { klog.Infof(word+" "+format, args...) }
