package main

import (
	"strings"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbinformers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions/databasemanager/v1alpha1"
)

// databaseHandler puts the names of DatabaseManagers into the queue. With Add: AddRateLimited is for what has
// failed, and makes a key wait longer each time.
func databaseHandler(queue workqueue.TypedInterface[cache.ObjectName]) cache.TypedResourceEventHandler[*dbv1alpha1.DatabaseManager] {
	return dbinformers.DatabaseManagerHandlerFuncs{
		AddFunc:    func(d *dbv1alpha1.DatabaseManager) { queue.Add(cache.MetaObjectToName(d)) },
		UpdateFunc: func(_, d *dbv1alpha1.DatabaseManager) { queue.Add(cache.MetaObjectToName(d)) },
		DeleteFunc: func(deleted dbinformers.DeletedDatabaseManager) { queue.Add(deleted.GetObjectName()) },
	}
}

// childHandler puts the DatabaseManagers into the queue that a child is there for.
func (k childKind[O, A]) childHandler(databases cache.TypedIndexer[*dbv1alpha1.DatabaseManager], queue workqueue.TypedInterface[cache.ObjectName]) cache.TypedResourceEventHandler[O] {
	// By the name that they ask for, not by the child's owner reference as in chapter 5. So they are also enqueued
	// when somebody has removed the reference; and where two ask for one name, the second when the first's child is gone.
	enqueueOwners := func(child cache.ObjectName) {
		name, ok := strings.CutSuffix(child.Name, k.suffix)
		if !ok {
			return
		}
		owners, err := databases.ByTypedIndex(byDeploymentName, child.Namespace+"/"+name)
		if err != nil {
			panic(err) // there is no such index
		}
		for _, d := range owners {
			queue.Add(cache.MetaObjectToName(d))
		}
	}
	return cache.TypedResourceEventHandlerFuncs[O]{
		AddFunc:    func(child O) { enqueueOwners(cache.NewObjectName(child.GetNamespace(), child.GetName())) },
		UpdateFunc: func(_, child O) { enqueueOwners(cache.NewObjectName(child.GetNamespace(), child.GetName())) },
		DeleteFunc: func(deleted cache.DeletedObject[O]) { enqueueOwners(deleted.GetObjectName()) },
	}
}
