package main

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbinformers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions/databasemanager/v1alpha1"
)

// printer prints what happens to objects.
type printer struct {
	out io.Writer
}

// databaseHandler puts the names of DatabaseManagers into the queue. With Add: AddRateLimited is for what has
// failed, and makes a key wait longer each time.
func databaseHandler(queue workqueue.TypedInterface[cache.ObjectName]) cache.TypedResourceEventHandler[*dbv1alpha1.DatabaseManager] {
	return dbinformers.DatabaseManagerHandlerFuncs{
		AddFunc:    func(d *dbv1alpha1.DatabaseManager) { queue.Add(cache.MetaObjectToName(d)) },
		UpdateFunc: func(_, d *dbv1alpha1.DatabaseManager) { queue.Add(cache.MetaObjectToName(d)) },
		DeleteFunc: func(deleted dbinformers.DeletedDatabaseManager) { queue.Add(deleted.GetObjectName()) },
	}
}

// waker puts the names of those DatabaseManagers into the queue that a child is there for.
type waker struct {
	databases cache.TypedIndexer[*dbv1alpha1.DatabaseManager]
	queue     workqueue.TypedInterface[cache.ObjectName]
}

// wake finds them by the name that they ask for, not by the child's owner reference as in chapter 5. So they also hear
// that somebody has removed the reference; and where two ask for one name, the second hears that the first's child
// is gone.
func (w waker) wake(child cache.ObjectName, suffix string) {
	name, ok := strings.CutSuffix(child.Name, suffix)
	if !ok {
		return
	}
	asking, err := w.databases.ByTypedIndex(byDeploymentName, child.Namespace+"/"+name)
	if err != nil {
		panic(err) // there is no such index
	}
	for _, d := range asking {
		w.queue.Add(cache.MetaObjectToName(d))
	}
}

// childHandler is for children whose names are the Deployment's with a suffix.
func childHandler[T cache.Object](w waker, suffix string) cache.TypedResourceEventHandler[T] {
	return cache.TypedResourceEventHandlerFuncs[T]{
		AddFunc:    func(child T) { w.wake(cache.NewObjectName(child.GetNamespace(), child.GetName()), suffix) },
		UpdateFunc: func(_, child T) { w.wake(cache.NewObjectName(child.GetNamespace(), child.GetName()), suffix) },
		DeleteFunc: func(deleted cache.DeletedObject[T]) { w.wake(deleted.GetObjectName(), suffix) },
	}
}

// line prints what happened, in one word, and to what: in one Write, so that the workers' lines don't mix.
func (p *printer) line(word, format string, args ...any) {
	fmt.Fprintf(p.out, "%-10s "+format+"\n", append([]any{word}, args...)...)
}
