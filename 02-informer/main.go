// Chapter 2: the informer, which lists and watches once, for any number of handlers and listers.
//
// A factory creates one informer for Deployments and one for Pods. Each informer keeps a copy of the server's objects, its
// store. It calls handlers when the store changes, and listers read the store without a request.
//
// Read in this order: main.go, informer.go, transform.go, handler.go, lister.go, watcherror.go, demo.go, badhandler.go,
// trace.go.
package main

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/picture"
	"example.com/client-go-workbook/internal/program"
)

func main() {
	p := program.New("02-informer")
	o := options{selection: selection{labels: labels.Everything()}, requests: p.Wire.Requests}
	p.Flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.FuncP("selector", "l", "label selector, such as app=nginx", program.LabelSelector(&o.labels))
	p.Flags.Func("shard", "only a part of the objects, such as 2/4: the second of four", o.shard.Parse)
	p.Flags.DurationVar(&o.resync, "resync", 0, "hand every object in the store to the handlers again after this time (0: never)")
	p.Flags.StringVar(&o.name, "name", "nginx-deployment", "Deployment that the lister looks for, in --namespace or in default")
	p.Flags.DurationVar(&o.listerPeriod, "lister-period", 10*time.Second, "how often the lister looks for it")
	o.demo.addFlags(p.Flags)
	o.demo.picture = picture.New(p)

	p.Run(func(ctx context.Context, config *rest.Config) error {
		if o.listerPeriod == 0 || o.demo.handlers == 0 {
			return program.Usagef("--lister-period and --handlers must be more than 0")
		}
		if o.demo.trace {
			p.Wire.Line = p.Out.Line
		}
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
	name         string
	listerPeriod time.Duration
	demo         demo
	requests     func() int // the number of requests that the program has sent so far
}

// run starts the informers and reads their stores until ctx ends.
func run(ctx context.Context, clientset kubernetes.Interface, o options, out *program.Printer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	factory := newFactory(clientset, o.selection)
	defer func() {
		cancel(nil)        // stops the informers,
		factory.Shutdown() // and this waits for them
		o.demo.shutdown()
	}()
	before := o.requests()
	stopShowing, err := o.demo.show(ctx, factory, clientset, o.selection, out)
	if err != nil {
		return err
	}
	defer stopShowing()

	deployments, pods := factory.Apps().V1().Deployments(), factory.Core().V1().Pods()
	if err := handleWatchErrors(out, cancel, deployments.Informer(), pods.Informer()); err != nil {
		return err
	}
	handlers, err := addHandlers(factory, o.shard, out)
	if err != nil {
		return err
	}
	added, err := o.demo.addHandlers(ctx, cancel, clientset, factory, o.selection, out)
	if err != nil {
		return err
	}
	handlers = append(handlers, added...)

	printDeployment(out, deployments.Lister(), o) // not found: the informers have not started
	factory.StartWithContext(ctx)
	if factory.WaitForCacheSyncWithContext(ctx).Err != nil {
		return deniedCause(ctx)
	}
	out.Line("SYNCED", "stores, with %d request(s) for %d handlers", o.requests()-before, len(handlers))

	// The stores are filled, so listers can be read. Each handler needs its own time until it has been called for all
	// objects in them. Its registration knows when.
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		for _, h := range handlers {
			if cache.WaitFor(ctx, "", h.HasSyncedChecker()) && ctx.Err() == nil {
				h.out.Line("SYNCED", "handler of %s", h.resource)
			}
		}
	})
	wait.UntilWithContext(ctx, func(context.Context) { printDeployment(out, deployments.Lister(), o) }, o.listerPeriod)
	return deniedCause(ctx)
}
