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

	factories []informers.SharedInformerFactory // of --factory-each
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

// addHandlers adds the handlers that the switches ask for. Their informers run until ctx ends, and shutdown waits for them.
func (d *demo) addHandlers(ctx context.Context, cancel context.CancelCauseFunc, clientset kubernetes.Interface,
	factory informers.SharedInformerFactory, s selection, out *program.Printer) (added []registration, err error) {
	for number := uint(2); number <= d.handlers; number++ {
		target := factory
		if d.factoryEach {
			target = newFactory(clientset, s)
			d.factories = append(d.factories, target)
			deployments, pods := target.Apps().V1().Deployments().Informer(), target.Core().V1().Pods().Informer()
			if err := handleWatchErrors(out, cancel, deployments, pods); err != nil {
				return nil, err
			}
		}
		handlers, err := addHandlers(target, s.shard, out.Prefix(fmt.Sprintf("#%d ", number)))
		if err != nil {
			return nil, err
		}
		added = append(added, handlers...)
	}
	if d.bad != "" {
		pods, err := factory.Core().V1().Pods().TypedInformer().AddTypedEventHandler(d.bad.handler(ctx, out))
		if err != nil {
			return nil, err
		}
		added = append(added, registration{pods, "Pods", out.Prefix("bad ")})
	}
	for _, factory := range d.factories {
		factory.StartWithContext(ctx)
		factory.WaitForCacheSyncWithContext(ctx)
	}
	return added, nil
}

func (d *demo) shutdown() {
	for _, factory := range d.factories {
		factory.Shutdown()
	}
}
