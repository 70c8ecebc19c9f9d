// Package exercise has an answer with a mistake: it does not wait for the handler's last call.
package exercise

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func Follow(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) { fmt.Fprintln(out, "added", cache.MetaObjectToName(pod)) },
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return pods.RemoveEventHandler(registration)
}
