package exercise

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// WaitsUntilThereIsADeployment takes a store with one object for a synced one.
func WaitsUntilThereIsADeployment(
	ctx context.Context,
	databases, deployments cache.SharedIndexInformer,
	create func(d *dbv1alpha1.DatabaseManager) error,
) error {
	return run(ctx, databases, deployments, create, sync, func() {
		for len(deployments.GetStore().ListKeys()) == 0 && ctx.Err() == nil {
			time.Sleep(time.Second)
		}
	})
}

// DropsTheKeysThatComeTooEarly drops a key while the lists are not there.
func DropsTheKeysThatComeTooEarly(
	ctx context.Context,
	databases, deployments cache.SharedIndexInformer,
	create func(d *dbv1alpha1.DatabaseManager) error,
) error {
	syncLater := func(key cache.ObjectName, databaseStore, deploymentStore cache.Store, create createFunc) error {
		if !deployments.HasSynced() {
			return nil // too early
		}
		return sync(key, databaseStore, deploymentStore, create)
	}
	return run(ctx, databases, deployments, create, syncLater, func() {})
}

// AsksForTheNameOnly asks for a Deployment with the DatabaseManager's own name.
func AsksForTheNameOnly(
	ctx context.Context,
	databases, deployments cache.SharedIndexInformer,
	create func(d *dbv1alpha1.DatabaseManager) error,
) error {
	syncByName := func(key cache.ObjectName, databases, deployments cache.Store, create createFunc) error {
		object, exists, err := databases.GetByKey(key.String())
		if err != nil || !exists {
			return err
		}
		if _, exists, err = deployments.GetByKey(key.String()); err != nil || exists {
			return err
		}
		return create(object.(*dbv1alpha1.DatabaseManager))
	}
	return run(ctx, databases, deployments, create, syncByName, func() { cache.WaitFor(ctx, "", deployments.HasSyncedChecker()) })
}

type createFunc = func(d *dbv1alpha1.DatabaseManager) error

// run is Run, which waits for the DatabaseManagers only, and then calls wait.
func run(
	ctx context.Context,
	databases, deployments cache.SharedIndexInformer,
	create createFunc,
	sync func(key cache.ObjectName, databases, deployments cache.Store, create createFunc) error,
	wait func(),
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
	if !cache.WaitFor(ctx, "", handled.HasSyncedChecker()) {
		return nil
	}
	wait()
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
