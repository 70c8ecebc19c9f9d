// Package exercise answers "Find the bug: created twice". README.md has the task.
package exercise

import (
	"context"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// Run calls create for each DatabaseManager that has no Deployment with its deploymentName, until ctx ends.
func Run(
	ctx context.Context,
	databases, deployments cache.SharedIndexInformer,
	create func(d *dbv1alpha1.DatabaseManager) error,
) error {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	defer queue.ShutDown()
	enqueue := func(object any) { queue.Add(cache.MetaObjectToName(object.(*dbv1alpha1.DatabaseManager))) }
	handled, err := databases.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
	})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, queue.ShutDown) // it ends the loop
	// Both, because sync reads both stores: in one that is not filled yet, everything looks as if it did not exist.
	if !cache.WaitFor(ctx, "", handled.HasSyncedChecker(), deployments.HasSyncedChecker()) {
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

func sync(key cache.ObjectName, databases, deployments cache.Store, create func(d *dbv1alpha1.DatabaseManager) error) error {
	object, exists, err := databases.GetByKey(key.String())
	if err != nil || !exists {
		return err
	}
	d := object.(*dbv1alpha1.DatabaseManager)
	_, exists, err = deployments.GetByKey(d.Namespace + "/" + d.Spec.DeploymentName)
	if err != nil || exists {
		return err
	}
	return create(d)
}
