package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

type askFunc = func(count func(owner types.UID) (int, error))

// SendsARequestForEachQuestion has no informer, and lists all pods at each question.
func SendsARequestForEachQuestion(ctx context.Context, config *rest.Config, ask askFunc) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	pods := client.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
	ask(func(owner types.UID) (int, error) {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		count := 0
		for i := range list.Items {
			if controller := metav1.GetControllerOf(&list.Items[i]); controller != nil && controller.UID == owner {
				count++
			}
		}
		return count, nil
	})
	return nil
}

// RemovesTheSpecAfterItWasSent receives whole pods, and drops the rest.
func RemovesTheSpecAfterItWasSent(ctx context.Context, config *rest.Config, ask askFunc) error {
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
	return run(ctx, informer, ask)
}

// TakesMetadataForAPod asserts a Pod, which is not what a metadata informer has.
func TakesMetadataForAPod(ctx context.Context, config *rest.Config, ask askFunc) error {
	informer, err := newInformer(config, func(obj any) ([]string, error) {
		controller := metav1.GetControllerOf(obj.(*corev1.Pod))
		if controller == nil {
			return nil, nil
		}
		return []string{string(controller.UID)}, nil
	})
	if err != nil {
		return err
	}
	return run(ctx, informer, ask)
}

// CountsForEveryOwner counts a pod for each owner, not only for its controller.
func CountsForEveryOwner(ctx context.Context, config *rest.Config, ask askFunc) error {
	informer, err := newInformer(config, func(obj any) ([]string, error) {
		var owners []string
		for _, reference := range obj.(*metav1.PartialObjectMetadata).OwnerReferences {
			owners = append(owners, string(reference.UID))
		}
		return owners, nil
	})
	if err != nil {
		return err
	}
	return run(ctx, informer, ask)
}

// MissesADeletionThatItWasNotTold counts at each event, and forgets that a handler can get a DeletedFinalStateUnknown.
func MissesADeletionThatItWasNotTold(ctx context.Context, config *rest.Config, ask askFunc) error {
	informer, err := newInformer(config, ownersOf)
	if err != nil {
		return err
	}
	c := counter{counts: map[types.UID]int{}}
	add := func(obj any, number int) {
		if pod, ok := obj.(*metav1.PartialObjectMetadata); ok {
			c.add(pod, number)
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { add(obj, 1) },
		UpdateFunc: func(before, after any) { add(before, -1); add(after, 1) },
		DeleteFunc: func(obj any) { add(obj, -1) },
	})
	if err != nil {
		return err
	}
	return run(ctx, informer, func(func(types.UID) (int, error)) {
		if cache.WaitFor(ctx, "", registration.HasSyncedChecker()) {
			ask(c.count)
		}
	})
}

// DoesNotWaitWhenCtxHasEnded waits for the informer's end only where it returns no error.
func DoesNotWaitWhenCtxHasEnded(ctx context.Context, config *rest.Config, ask askFunc) error {
	informer, err := newInformer(config, ownersOf)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	if err := answer(ctx, informer, ask); err != nil {
		return err
	}
	stop()
	group.Wait()
	return nil
}

func newInformer(config *rest.Config, index cache.IndexFunc) (cache.SharedIndexInformer, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	indexers := cache.Indexers{byOwner: index}
	return metadatainformer.NewFilteredMetadataInformer(client, pods, metav1.NamespaceAll, 0, indexers, nil).Informer(), nil
}

// run runs the informer while it answers.
func run(ctx context.Context, informer cache.SharedIndexInformer, ask askFunc) error {
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop() // runs before Wait
	group.Go(func() { informer.RunWithContext(ctx) })
	return answer(ctx, informer, ask)
}

// answer waits for the informer's store, and answers from its index.
func answer(ctx context.Context, informer cache.SharedIndexInformer, ask askFunc) error {
	if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
		return ctx.Err()
	}
	ask(func(owner types.UID) (int, error) {
		keys, err := informer.GetIndexer().IndexKeys(byOwner, string(owner))
		return len(keys), err
	})
	return nil
}
