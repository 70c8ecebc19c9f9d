// Package exercise has an answer with a mistake: the handler waits for its own end.
package exercise

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func Follow(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
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
