// Package exercise answers "Count pods, receive metadata only". README.md has the task.
package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const byOwner = "owner"

// CountByOwner runs an informer and calls ask, once its store is full, with a function that counts the pods of an owner.
// It returns when ask has returned, and the informer has ended.
func CountByOwner(ctx context.Context, config *rest.Config, ask func(count func(owner types.UID) (int, error))) error {
	client, err := metadata.NewForConfig(config) // its requests have an Accept header that asks for PartialObjectMetadata
	if err != nil {
		return err
	}
	// A metadata client serves each resource, so it must be named: there is no Go type that says it.
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	indexers := cache.Indexers{byOwner: ownersOf}
	informer := metadatainformer.NewFilteredMetadataInformer(client, pods, metav1.NamespaceAll, 0, indexers, nil).Informer()

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
	controller := metav1.GetControllerOf(obj.(*metav1.PartialObjectMetadata)) // what is in the store is no Pod
	if controller == nil {
		return nil, nil
	}
	return []string{string(controller.UID)}, nil
}
