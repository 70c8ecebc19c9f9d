// Package exercise answers "Remove a handler". README.md has the task.
package exercise

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Follow prints "added NAMESPACE/NAME" for each pod that the informer adds to its store, until ctx ends. When it has
// returned, it writes no more. The informer runs on.
func Follow(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	registration, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) { fmt.Fprintln(out, "added", cache.MetaObjectToName(pod)) },
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	// RemoveEventHandler alone returns at once, while a call of the handler can still run. This waits for the last call. In
	// the handler itself it would wait for its own end.
	return cache.ShutDownEventHandler(pods, registration)
}
