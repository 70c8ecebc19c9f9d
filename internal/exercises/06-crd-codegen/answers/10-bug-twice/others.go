package exercise

import (
	"context"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// Polls asks both informers every 100 ms whether they are synced.
func Polls(
	ctx context.Context,
	databases, deployments cache.SharedIndexInformer,
	create func(d *dbv1alpha1.DatabaseManager) error,
) error {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	defer queue.ShutDown()
	enqueue := func(object any) { queue.Add(cache.MetaObjectToName(object.(*dbv1alpha1.DatabaseManager))) }
	_, err := databases.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
	})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, queue.ShutDown) // it ends the loop
	if !cache.WaitForCacheSync(ctx.Done(), databases.HasSynced, deployments.HasSynced) {
		return nil
	}
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return nil
		}
		if err := sync(key, databases.GetStore(), deployments.GetStore(), create); err != nil {
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
}
