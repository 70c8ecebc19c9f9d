// handler.go: which event enqueues which key.
// Before: release.go. Next: informer.go.

package main

import (
	"strings"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbv1alpha1informers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions/databasemanager/v1alpha1"
)

// databaseHandler enqueues the names of DatabaseManagers.
func databaseHandler(queue workqueue.TypedInterface[cache.ObjectName]) cache.TypedResourceEventHandler[*dbv1alpha1.DatabaseManager] {
	return dbv1alpha1informers.DatabaseManagerHandlerFuncs{
		AddFunc:    func(d *dbv1alpha1.DatabaseManager) { queue.Add(cache.MetaObjectToName(d)) },
		UpdateFunc: func(_, d *dbv1alpha1.DatabaseManager) { queue.Add(cache.MetaObjectToName(d)) },
		DeleteFunc: func(deleted dbv1alpha1informers.DeletedDatabaseManager) { queue.Add(deleted.GetObjectName()) },
	}
}

// addHandler enqueues the owners of each child that changes.
func (k typedKind[O, A]) addHandler() error {
	enqueue := func(child cache.ObjectName) {
		if name, ok := strings.CutSuffix(child.Name, k.suffix); ok {
			k.controller.enqueueOwners(deploymentNameIndex, child.Namespace+"/"+name)
		}
	}
	return addTypedHandler(k.controller, k.informer, cache.TypedResourceEventHandlerFuncs[O]{
		AddFunc:    func(child O) { enqueue(cache.MetaObjectToName(child)) },
		UpdateFunc: func(_, child O) { enqueue(cache.MetaObjectToName(child)) },
		DeleteFunc: func(deleted cache.DeletedObject[O]) { enqueue(deleted.GetObjectName()) },
	})
}

// databasesBy returns the DatabaseManagers that have this value in an index.
func (c *Controller) databasesBy(index, value string) []*dbv1alpha1.DatabaseManager {
	owners, err := c.databaseIndexer.ByTypedIndex(index, value)
	if err != nil {
		panic(err) // there is no such index
	}
	return owners
}

// enqueueOwners enqueues the DatabaseManagers that have this value in an index.
//
// Children are matched by the name that a DatabaseManager asks for, not by their owner reference as in chapter 5. So the
// DatabaseManager is also enqueued when the reference was removed; and if two ask for one name, the second one
// is enqueued when the first one's child is gone.
func (c *Controller) enqueueOwners(index, value string) {
	for _, d := range c.databasesBy(index, value) {
		c.queue.Add(cache.MetaObjectToName(d))
	}
}
