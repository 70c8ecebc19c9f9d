package grade

import (
	"fmt"
	"reflect"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// Unchanged remembers objects as they are: those of a store, or those that an answer is given. It returns a function that
// rejects the answer if one of them has changed since:
//
//	unchanged := t.Unchanged(indexer.List()...)
//	answer(...)
//	unchanged()
func (t *T) Unchanged(objects ...any) (check func()) {
	var copies []runtime.Object
	for _, object := range objects {
		copies = append(copies, object.(runtime.Object).DeepCopyObject())
	}
	return func() {
		t.Helper()
		for i, object := range objects {
			if !reflect.DeepEqual(object, copies[i]) {
				t.Reject("objects of a store stay as they are", "an object in the store was changed: "+nameOf(copies[i]),
					"DeepCopy before you change an object that a lister, a handler or a caller gave you")
			}
		}
	}
}

// nameOf is the type and the name of an object: "ConfigMap orders".
func nameOf(object runtime.Object) string {
	kind := reflect.TypeOf(object).Elem().Name()
	if accessor, err := apimeta.Accessor(object); err == nil {
		return fmt.Sprintf("%s %s", kind, accessor.GetName())
	}
	return kind
}
