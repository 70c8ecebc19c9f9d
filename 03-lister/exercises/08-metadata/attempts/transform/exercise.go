package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const byOwner = "owner"

func CountByOwner(ctx context.Context, config *rest.Config, ask func(count func(owner types.UID) (int, error))) error {
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return err
	}
	pods := cache.NewListWatchFromClient(client.RESTClient(), "pods", "", fields.Everything())
	informer := cache.NewSharedIndexInformer(pods, &corev1.Pod{}, 0, cache.Indexers{byOwner: ownersOf})

	err = informer.SetTransform(func(obj any) (any, error) {
		if pod, ok := obj.(*corev1.Pod); ok {
			return &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}, nil
		}
		return obj, nil
	})
	if err != nil {
		return err
	}

	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
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

func ownersOf(obj any) ([]string, error) {
	controller := metav1.GetControllerOf(obj.(*metav1.PartialObjectMetadata))
	if controller == nil {
		return nil, nil
	}
	return []string{string(controller.UID)}, nil
}
