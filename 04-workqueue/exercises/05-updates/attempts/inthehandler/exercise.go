package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func Run(ctx context.Context, pods cache.SharedIndexInformer, save func(*corev1.Pod)) error {
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { save(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { save(object.(*corev1.Pod)) },
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return pods.RemoveEventHandler(registration)
}
