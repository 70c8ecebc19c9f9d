package exercise

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// SilencesAndRemovesTheHandler checks ctx in its handler, which may be past that check when ctx ends.
func SilencesAndRemovesTheHandler(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) {
			if ctx.Err() == nil {
				fmt.Fprintln(out, "added", cache.MetaObjectToName(pod))
			}
		},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return pods.RemoveEventHandler(registration)
}

// RemovesTheHandlerFromItself lets the handler wait for its own end.
func RemovesTheHandlerFromItself(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registered := make(chan cache.ResourceEventHandlerRegistration, 1)
	removed := make(chan error, 1)
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) {
			if ctx.Err() != nil {
				removed <- cache.ShutDownEventHandler(pods, <-registered)
				return
			}
			fmt.Fprintln(out, "added", cache.MetaObjectToName(pod))
		},
	})
	if err != nil {
		return err
	}
	registered <- registration
	return <-removed
}

// RemovesWithoutAWait does not wait for the handler's last call.
func RemovesWithoutAWait(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) { fmt.Fprintln(out, "added", cache.MetaObjectToName(pod)) },
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return pods.RemoveEventHandler(registration)
}

// RemovesAndSleeps hopes that the last call has ended two seconds later.
func RemovesAndSleeps(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	defer time.Sleep(2 * time.Second)
	return RemovesWithoutAWait(ctx, pods, out)
}

// SilencesRemovesAndSleeps has a handler that begins no new line, and hopes that the last one is written two seconds later.
func SilencesRemovesAndSleeps(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	defer time.Sleep(2 * time.Second)
	return SilencesAndRemovesTheHandler(ctx, pods, out)
}
