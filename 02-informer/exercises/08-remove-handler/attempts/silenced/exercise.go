// Package exercise has an answer with a mistake: the handler is silent, but stays.
package exercise

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func Follow(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
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
	return nil
}
