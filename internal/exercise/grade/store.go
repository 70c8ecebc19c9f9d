package grade

import (
	"fmt"
	"reflect"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Unchanged remembers objects as they are: those of a store, or those that an answer is given. It returns a function that
// rejects the answer if one of them has changed since, or if an append has written behind the end of a slice of theirs:
//
//	unchanged := t.Unchanged(indexer.List()...)
//	answer(...)
//	unchanged()
func (t *T) Unchanged(objects ...any) (check func()) {
	var copies []runtime.Object
	var behind [][2]reflect.Value // the room of the slices, and what was in it
	for _, object := range objects {
		copies = append(copies, object.(runtime.Object).DeepCopyObject())
		eachSlice(reflect.ValueOf(object), func(slice reflect.Value) {
			room := slice.Slice(slice.Len(), slice.Cap())
			behind = append(behind, [2]reflect.Value{room, reflect.AppendSlice(reflect.Zero(room.Type()), room)})
		})
	}
	return func() {
		t.Helper()
		for _, room := range behind {
			if room[0].Len() > 0 && !reflect.DeepEqual(room[0].Interface(), room[1].Interface()) {
				t.Reject("objects of a store stay as they are, and the arrays of their slices",
					fmt.Sprintf("an append has written into the array of a %s", room[0].Type()),
					"append(a, b...) writes behind the end of a, if there is room: slices.Concat makes a new slice")
			}
		}
		for i, object := range objects {
			if !reflect.DeepEqual(object, copies[i]) {
				t.Reject("objects of a store stay as they are", "an object in the store was changed: "+nameOf(copies[i]),
					"DeepCopy before you change an object that a lister, a handler or a caller gave you")
			}
		}
	}
}

// Room gives each slice of an object room behind its end, as one can have that was decoded or appended to. [T.Unchanged] sees what
// is written there.
func Room[T metav1.Object](object T) T {
	eachSlice(reflect.ValueOf(object), func(slice reflect.Value) {
		if slice.CanSet() && !slice.IsNil() {
			larger := reflect.MakeSlice(slice.Type(), slice.Len(), slice.Len()+8)
			reflect.Copy(larger, slice)
			slice.Set(larger)
		}
	})
	return object
}

// eachSlice calls f for each slice of a value, the outer ones first.
func eachSlice(v reflect.Value, f func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachSlice(v.Elem(), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachSlice(v.Field(i), f)
			}
		}
	case reflect.Slice:
		f(v)
		for i := range v.Len() {
			eachSlice(v.Index(i), f)
		}
	}
}

// Filled fills all empty fields of an object, so that no change of one of them is unseen, and gives its slices [Room]. Two fields
// stay as they are: the kind, which the objects of a store have not, and the deletionTimestamp.
func Filled[T metav1.Object](object T) T {
	deleted := object.GetDeletionTimestamp()
	v := reflect.ValueOf(object).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Name != "TypeMeta" {
			fill(v.Field(i))
		}
	}
	object.SetDeletionTimestamp(deleted)
	return Room(object)
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
