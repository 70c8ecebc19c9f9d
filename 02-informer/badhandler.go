package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
)

// badHandler is what a handler should not do: be slow, block or panic. Each handler has a goroutine and a buffer
// without limit of its own, so the others don't wait for it; but they are in the same process.
type badHandler string

func (b *badHandler) Set(value string) error {
	if value != "slow" && value != "blocks" && value != "panics" {
		return errors.New("must be slow, blocks or panics")
	}
	*b = badHandler(value)
	return nil
}

func (b *badHandler) String() string { return string(*b) }
func (b *badHandler) Type() string   { return "how" }

// handler returns the bad handler. It lets go when ctx ends: the informer waits for its handlers when it is
// stopped, so one that blocks for good would keep factory.Shutdown from ever returning.
func (b badHandler) handler(ctx context.Context, out *program.Printer) cache.TypedResourceEventHandler[*corev1.Pod] {
	return informers.PodHandlerFuncs{AddFunc: func(pod *corev1.Pod) {
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
			panic(fmt.Sprintf("the bad handler was told of %s", name))
		}
	}}
}
