package grade

import (
	"fmt"
	"reflect"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Filled fills all empty fields of an object, so that no change of one of them is unseen. Two stay as they are: the kind, which
// the objects of a store have not, and the deletionTimestamp.
func Filled[T metav1.Object](object T) T {
	deleted := object.GetDeletionTimestamp()
	v := reflect.ValueOf(object).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Name != "TypeMeta" {
			fill(v.Field(i))
		}
	}
	object.SetDeletionTimestamp(deleted)
	return object
}

// fill fills a value that is empty. A slice and a map get one entry.
func fill(v reflect.Value) {
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
		return
	}
	if !v.IsZero() {
		return
	}
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
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
