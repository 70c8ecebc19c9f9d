// Package exercise answers "Count pods, receive metadata only". README.md has the task.
package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const byOwner = "owner"

// CountByOwner runs an informer and calls ask, once its store is full, with a function that counts the pods of an owner.
// It returns when ask has returned, and the informer has ended.
func CountByOwner(ctx context.Context, config *rest.Config, ask func(count func(owner types.UID) (int, error))) error {
	// TODO: the informer receives whole pods.
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return err
	}
	pods := cache.NewListWatchFromClient(client.RESTClient(), "pods", "", fields.Everything())
	informer := cache.NewSharedIndexInformer(pods, &corev1.Pod{}, 0, cache.Indexers{byOwner: ownersOf})

	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop() // runs before Wait
	group.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
		return ctx.Err()
	}
	ask(func(owner types.UID) (int, error) {
		keys, err := informer.GetIndexer().IndexKeys(byOwner, string(owner))
		return len(keys), err
	})
	return nil
}

// ownersOf returns the UIDs under which the index has a pod.
func ownersOf(obj any) ([]string, error) {
	// TODO: return the owner that is the pod's controller.
	var owners []string
	for _, reference := range obj.(*corev1.Pod).OwnerReferences {
		owners = append(owners, string(reference.UID))
	}
	return owners, nil
}
