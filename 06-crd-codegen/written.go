package main

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// written remembers what the controller has written about each DatabaseManager, until the stores have it too.
//
// A store is always a little behind. A reconcile between a write and its event would see the world from before, and
// write the same again. That does no harm here (see apply.go), but it costs requests, several for each object.
type written struct {
	stores map[string]cache.Store // by kind

	mu       sync.Mutex
	versions map[cache.ObjectName]map[string]string // by key and kind: the resourceVersion of our newest write
}

func (w *written) add(d *dbv1alpha1.DatabaseManager, kind string, made metav1.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := cache.MetaObjectToName(d)
	if w.versions[key] == nil {
		w.versions[key] = map[string]string{}
	}
	w.versions[key][kind] = made.GetResourceVersion()
}

// seen tells whether the stores are as new as what we have written.
func (w *written) seen(key cache.ObjectName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for kind, version := range w.versions[key] {
		order, err := resourceversion.CompareResourceVersion(w.stores[kind].LastStoreSyncResourceVersion(), version)
		if err == nil && order < 0 { // an error: a fake server, whose versions are no numbers
			return false
		}
	}
	delete(w.versions, key)
	return true
}

func (w *written) forget(key cache.ObjectName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.versions, key)
}
