package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const byOwner = "owner"

func CountByOwner(ctx context.Context, config *rest.Config, ask func(count func(owner types.UID) (int, error))) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	indexers := cache.Indexers{byOwner: ownersOf}
	informer := metadatainformer.NewFilteredMetadataInformer(client, pods, metav1.NamespaceAll, 0, indexers, nil).Informer()

	go informer.RunWithContext(ctx)
	if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
		return ctx.Err()
	}
	ask(func(owner types.UID) (int, error) {
		keys, err := informer.GetIndexer().IndexKeys(byOwner, string(owner))
		return len(keys), err
	})
	return nil
}

func ownersOf(obj any) ([]string, error) {
	controller := metav1.GetControllerOf(obj.(*metav1.PartialObjectMetadata))
	if controller == nil {
		return nil, nil
	}
	return []string{string(controller.UID)}, nil
}
