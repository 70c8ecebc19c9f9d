// A controller of DatabaseManagers with client-go. It does nothing yet.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig of the cluster")
	elect := flag.Bool("leader-elect", false, "write only as long as it has the Lease (stage 12)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
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
	databases, err := versioned.NewForConfig(config)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	_, _, _, _ = databases, client, namespace, elect // from here on it is yours
	<-ctx.Done()
	return nil
}
