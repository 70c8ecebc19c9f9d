// Chapter 2: the informer, which lists and watches once and serves many.
//
// A factory makes one informer for Deployments and one for Pods. Each keeps a copy of the server's objects, the
// store, tells handlers what changes in it, and lets listers read from it without a request.
//
// Read in this order: main.go, informer.go (the factory), handler.go (what the handlers print).
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
)

func main() {
	p := program.New("02-informer")
	s := selection{labels: labels.Everything()}
	p.Flags.StringVarP(&s.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.FuncP("selector", "l", "label selector, such as app=nginx", func(value string) (err error) {
		s.labels, err = labels.Parse(value)
		return err
	})
	p.Flags.DurationVar(&s.resync, "resync", 0, "hand every object in the store to the handlers again after this time (0: never)")

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

		handler := printer{out: os.Stdout}
		deployments, err := factory.Apps().V1().Deployments().TypedInformer().AddTypedEventHandler(deploymentHandler(handler))
		if err != nil {
			return err
		}
		pods, err := factory.Core().V1().Pods().TypedInformer().AddTypedEventHandler(podHandler(handler))
		if err != nil {
			return err
		}
		factory.StartWithContext(ctx)
		// Not the informers' checkers: those say that the stores are filled, the registrations' that our
		// handlers have seen what is in them.
		if !cache.WaitFor(ctx, "the first list", deployments.HasSyncedChecker(), pods.HasSyncedChecker()) {
			return nil // Ctrl-C came first
		}
		fmt.Println("SYNCED")

		<-ctx.Done()
		return nil
	})
}
