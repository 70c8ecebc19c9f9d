package main

import "k8s.io/apimachinery/pkg/api/meta"

// stripManagedFields is the factory's transform: it takes from each object what the server notes about who has set
// which field, before the object gets into the store. Nothing here reads that, and it is a quarter of a Pod.
//
// It changes the object in place, which is allowed here and nowhere later: in the store, others read it too. And
// it must stand being called on its own result: on the objects of a streaming list, client-go calls it twice.
func stripManagedFields(object any) (any, error) {
	metadata, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	metadata.SetManagedFields(nil)
	return object, nil
}
