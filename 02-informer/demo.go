// demo.go: the switches for experiments, which add handlers to the two of the main path.
// Before: watcherror.go. Next: badhandler.go.

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/picture"
	"example.com/client-go-workbook/internal/program"
)

// demo holds what the switches for experiments say.
type demo struct {
	handlers    uint
	factoryEach bool
	bad         badHandler
	trace       bool
	picture     *picture.Picture
}

func (d *demo) addFlags(flags *pflag.FlagSet) {
	flags.UintVar(&d.handlers, "handlers", 1, "how many handlers each informer gets")
	flags.BoolVar(&d.trace, "trace", false, "print each hop of each object, and the time since it was decoded")
	flags.BoolVar(&d.factoryEach, "factory-each", false, "break it: create a factory for each handler instead of one for all")
	flags.Func("bad-handler", "break it: give Pods one more handler, which is slow, blocks, or panics", func(value string) error {
		d.bad = badHandler(value)
		if value != "slow" && value != "blocks" && value != "panics" {
			return errors.New("it takes slow, blocks or panics")
		}
		return nil
	})
}

// start adds what the switches say, and returns the added handlers. It must be called before the program asks the factory
// for an informer. The caller calls stop, also after an error: it stops what start has started, and waits for it.
func (d demo) start(ctx context.Context, cancel context.CancelCauseFunc, clientset kubernetes.Interface,
	factory informers.SharedInformerFactory, s selection, out *program.Printer) (added []registration, stop func(), err error) {
	ctx, stopInformers := context.WithCancel(ctx)
	var factories []informers.SharedInformerFactory // of --factory-each
	stopShowing, err := d.show(ctx, factory, clientset, s, out)
	stop = func() {
		stopShowing()
		stopInformers()
		for _, factory := range factories {
			factory.Shutdown()
		}
	}
	if err != nil {
		return nil, stop, err
	}
	for number := uint(2); number <= d.handlers; number++ {
		target := factory
		if d.factoryEach {
			target = newFactory(clientset, s)
			factories = append(factories, target)
			deployments, pods := target.Apps().V1().Deployments().Informer(), target.Core().V1().Pods().Informer()
			if err := handleWatchErrors(out, cancel, deployments, pods); err != nil {
				return nil, stop, err
			}
		}
		handlers, err := addHandlers(target, out.Prefix(fmt.Sprintf("#%d ", number)))
		if err != nil {
			return nil, stop, err
		}
		added = append(added, handlers...)
	}
	if d.bad != "" {
		pods, err := factory.Core().V1().Pods().TypedInformer().AddTypedEventHandler(d.bad.handler(ctx, out))
		if err != nil {
			return nil, stop, err
		}
		added = append(added, registration{pods, "Pods", out.Prefix("bad ")})
	}
	for _, factory := range factories {
		factory.StartWithContext(ctx)
		factory.WaitForCacheSyncWithContext(ctx)
	}
	return added, stop, nil
}
