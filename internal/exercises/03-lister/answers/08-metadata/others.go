package exercise

import (
	"context"
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// counter counts pods as they come and go.
type counter struct {
	mu     sync.Mutex
	counts map[types.UID]int
}

func (c *counter) add(obj any, number int) {
	if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	for _, reference := range obj.(metav1.Object).GetOwnerReferences() {
		if reference.Controller != nil && *reference.Controller {
			c.mu.Lock()
			c.counts[reference.UID] += number
			c.mu.Unlock()
		}
	}
}

func (c *counter) count(owner types.UID) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[owner], nil
}

// CountsAtEachEvent counts in its handlers, and needs no index.
func CountsAtEachEvent(parent context.Context, config *rest.Config, ask func(count func(owner types.UID) (int, error))) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(parent)
	factory := metadatainformer.NewSharedInformerFactory(client, 0)
	defer factory.Shutdown()
	defer stop() // runs before Shutdown
	c := counter{counts: map[types.UID]int{}}
	pods := factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Informer()
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { c.add(obj, 1) },
		UpdateFunc: func(before, after any) { c.add(before, -1); c.add(after, 1) },
		DeleteFunc: func(obj any) { c.add(obj, -1) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitFor(ctx, "", registration.HasSyncedChecker()) {
		return errors.New("not synced")
	}
	ask(c.count)
	return nil
}
