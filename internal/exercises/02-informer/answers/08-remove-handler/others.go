package exercise

import (
	"context"
	"fmt"
	"io"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// SilencesItsHandlerFirst has a handler that writes nothing after the end, and is removed without a wait.
func SilencesItsHandlerFirst(ctx context.Context, pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	var mu sync.Mutex
	ended := false
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				fmt.Fprintln(out, "added", cache.MetaObjectToName(object.(*corev1.Pod)))
			}
		},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	mu.Lock()
	ended = true
	mu.Unlock()
	return pods.RemoveEventHandler(registration)
}
