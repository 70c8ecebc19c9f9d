// Chapter 2: the informer, which lists and watches once, and serves many from then on.
//
// A factory makes one informer for Deployments and one for Pods. Each keeps a copy of the server's objects, its
// store, tells handlers what changes in it, and lets listers read from it without a request.
//
// Read in this order: main.go, informer.go (the factory), handler.go (who is told), lister.go (who asks),
// transform.go (what is kept), watcherror.go (what goes wrong), badhandler.go, and trace.go, which follows an
// object on its way through all of them.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
)

func main() {
	p := program.New("02-informer")
	c := chapter{selection: selection{labels: labels.Everything()}, out: p.Out, requests: p.Wire.Requests}
	p.Flags.StringVarP(&c.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.FuncP("selector", "l", "label selector, such as app=nginx", program.LabelSelector(&c.labels))
	p.Flags.DurationVar(&c.resync, "resync", 0, "hand every object in the store to the handlers again after this time (0: never)")
	p.Flags.StringVar(&c.name, "name", "nginx-deployment", "Deployment that the lister looks for, in --namespace or in default")
	p.Flags.DurationVar(&c.lookEvery, "look-every", 10*time.Second, "how often the lister looks for it")
	p.Flags.UintVar(&c.handlers, "handlers", 1, "how many handlers each informer gets")
	trace := p.Flags.Bool("trace", false, "print each hop of each object, and the time since it was decoded")
	p.Flags.BoolVar(&c.factoryEach, "factory-each", false, "break it: make a factory for each handler instead of one for all")
	p.Flags.Var(&c.bad, "bad-handler", "break it: give Pods one more handler, which is slow, blocks, or panics")

	p.Run(func(ctx context.Context, config *rest.Config) error {
		if c.lookEvery == 0 || c.handlers == 0 {
			return program.Usagef("--look-every and --handlers must be more than 0")
		}
		if *trace {
			p.Wire.Line = p.Out.Line
			c.tracer = &tracer{out: c.out}
		}
		clientset, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		if err := program.CheckNamespace(ctx, clientset, c.namespace); err != nil {
			return err
		}
		return c.run(ctx, clientset)
	})
}

// chapter is what the flags ask for.
type chapter struct {
	selection
	out         *program.Printer
	tracer      *tracer // nil does not trace
	name        string
	lookEvery   time.Duration
	handlers    uint
	factoryEach bool
	bad         badHandler
	requests    func() int // how many the program has sent so far
}

// run shows informers at work until ctx ends.
func (c chapter) run(ctx context.Context, clientset kubernetes.Interface) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var factories []informers.SharedInformerFactory
	defer func() {
		cancel(nil) // ends the informers,
		for _, factory := range factories {
			factory.Shutdown() // which waits for them
		}
	}()
	before := c.requests()
	var handlers []registered
	for number := range c.handlers {
		if number == 0 || c.factoryEach {
			factory := newFactory(clientset, c.selection)
			factories = append(factories, factory)
			if c.tracer != nil {
				c.tracer.follow(factory, clientset, c.selection)
			}
			if err := handleWatchErrors(c.out, cancel, factory.Apps().V1().Deployments().Informer(), factory.Core().V1().Pods().Informer()); err != nil {
				return err
			}
		}
		factory, out := factories[len(factories)-1], c.out
		if c.handlers > 1 {
			out = c.out.Prefix(fmt.Sprintf("#%d ", number+1))
		}
		deployments, err := factory.Apps().V1().Deployments().TypedInformer().AddTypedEventHandler(handler[*appsv1.Deployment]{out, c.tracer})
		if err != nil {
			return err
		}
		pods, err := factory.Core().V1().Pods().TypedInformer().AddTypedEventHandler(handler[*corev1.Pod]{out, c.tracer})
		if err != nil {
			return err
		}
		handlers = append(handlers, registered{out, "Deployments", deployments}, registered{out, "Pods", pods})
	}
	if c.bad != "" {
		pods, err := factories[0].Core().V1().Pods().TypedInformer().AddTypedEventHandler(c.bad.handler(ctx, c.out))
		if err != nil {
			return err
		}
		handlers = append(handlers, registered{c.out.Prefix("bad "), "Pods", pods})
	}

	deployments := factories[0].Apps().V1().Deployments().Lister()
	c.look(deployments) // finds nothing: the informers have not begun
	for _, factory := range factories {
		factory.StartWithContext(ctx)
	}
	for _, factory := range factories {
		if factory.WaitForCacheSyncWithContext(ctx).Err != nil {
			return deniedCause(ctx)
		}
	}
	c.out.Line("SYNCED", "stores, with %d request(s) for %d handlers", c.requests()-before, len(handlers))
	// Whoever reads the stores can begin. Whether a handler has been told of all that is in them is another
	// question, which its registration answers.
	var waiting sync.WaitGroup
	defer waiting.Wait()
	waiting.Go(func() {
		for _, h := range handlers {
			if cache.WaitFor(ctx, "", h.HasSyncedChecker()) && ctx.Err() == nil {
				h.out.Line("SYNCED", "handler of %s", h.kind)
			}
		}
	})
	wait.UntilWithContext(ctx, func(context.Context) { c.look(deployments) }, c.lookEvery)
	return deniedCause(ctx)
}

// registered is a handler that an informer has accepted.
type registered struct {
	out  *program.Printer
	kind string
	cache.ResourceEventHandlerRegistration
}
