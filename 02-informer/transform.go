// transform.go: what the informers remove from each object before they store it.
// The same file in chapters 2 to 4.

package main

import apimeta "k8s.io/apimachinery/pkg/api/meta"

// stripManagedFields is the factory's transform. It removes metadata.managedFields, where the server records who has set
// which field: nothing here reads that, and it is a quarter of a Pod.
//
// A transform is allowed to change the object in place. Later nothing is: in the store, the object has other readers.
// A transform must also accept its own result: client-go calls it twice for each object of a streaming list.
func stripManagedFields(object any) (any, error) {
	metadata, err := apimeta.Accessor(object)
	if err != nil {
		return nil, err
	}
	metadata.SetManagedFields(nil)
	return object, nil
}
