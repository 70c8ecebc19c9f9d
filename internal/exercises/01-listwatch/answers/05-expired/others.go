package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// RunsAnInformer is an informer, the subject of chapter 2: it lists, watches, lists again and compares.
func RunsAnInformer(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ObjectType:    &corev1.Pod{},
		ListerWatcher: source{pods: pods},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { report("ADDED", object.(*corev1.Pod).Name) },
			UpdateFunc: func(before, after any) {
				old, pod := before.(*corev1.Pod), after.(*corev1.Pod)
				switch {
				case old.UID != pod.UID:
					report("DELETED", old.Name)
					report("ADDED", pod.Name)
				case old.ResourceVersion != pod.ResourceVersion:
					report("MODIFIED", pod.Name)
				}
			},
			DeleteFunc: func(object any) {
				name, _ := cache.DeletionHandlingObjectToName(object)
				report("DELETED", name.Name)
			},
		},
	})
	controller.RunWithContext(ctx)
	return nil
}

// source has the methods with a context, which are called in place of those of ListerWatcher.
type source struct {
	cache.ListerWatcher
	pods typedcorev1.PodInterface
}

func (s source) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return s.pods.List(ctx, options)
}

func (s source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return s.pods.Watch(ctx, options)
}
