// badhandler.go: three things that a handler must not do: be slow, block and panic.
// Before: demo.go. Next: trace.go.

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
)

// badHandler is the value of --bad-handler. Each handler has goroutines and an unlimited buffer of its own, so the other
// handlers do not wait for a bad one. But they are in the same process.
type badHandler string

// handler returns the bad handler. It returns when ctx ends: an informer that is stopped waits for its handlers, so a
// handler that blocks without end would also block factory.Shutdown.
func (b badHandler) handler(ctx context.Context, out *program.Printer) cache.TypedResourceEventHandler[*corev1.Pod] {
	return coreinformers.PodHandlerFuncs{AddFunc: func(pod *corev1.Pod) {
		if ctx.Err() != nil {
			return
		}
		name := cache.MetaObjectToName(pod)
		out.Line("BAD", "Pod %s: %s", name, b)
		switch b {
		case "slow":
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		case "blocks":
			<-ctx.Done()
		case "panics":
			panic(fmt.Sprintf("the bad handler was called for %s", name))
		}
	}}
}
