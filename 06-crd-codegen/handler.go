// handler.go: which event enqueues which key.
// Before: status.go. Next: informer.go.

package main

import (
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbv1alpha1informers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions/databasemanager/v1alpha1"
)

// databaseHandler enqueues DatabaseManagers, and those that wait for the children of a deleted one.
func (c *Controller) databaseHandler() cache.TypedResourceEventHandler[*dbv1alpha1.DatabaseManager] {
	return dbv1alpha1informers.DatabaseManagerHandlerFuncs{
		AddFunc:    func(d *dbv1alpha1.DatabaseManager) { c.queue.Add(cache.MetaObjectToName(d)) },
		UpdateFunc: func(_, d *dbv1alpha1.DatabaseManager) { c.queue.Add(cache.MetaObjectToName(d)) },
		DeleteFunc: func(deleted dbv1alpha1informers.DeletedDatabaseManager) {
			c.queue.Add(deleted.GetObjectName())
			if d := deleted.OptionalObj; d != nil { // else they are retried within a minute
				c.enqueueOwners(deploymentNameIndex, d.Namespace+"/"+d.Spec.DeploymentName)
			}
		},
	}
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
