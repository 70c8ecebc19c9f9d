package ssa

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// merges reports whether a field is a list of which each manager can own some elements. The types in k8s.io/api say so in a tag, but
// for exit codes, which are a set.
func merges(field reflect.StructField) bool {
	isSet := field.Type == reflect.TypeFor[[]int32]()
	return isSet || field.Type.Kind() == reflect.Slice && strings.Contains(field.Tag.Get("patchStrategy"), "merge")
}

// keyOf returns by what the server distinguishes an element of a list from the others.
func keyOf(list reflect.StructField, element reflect.Value) string {
	name := list.Tag.Get("patchMergeKey")
	if name == "" {
		return fmt.Sprint(element) // a set
	}
	field := func(name string) reflect.Value {
		return element.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
	}
	key := fmt.Sprint(field(name))
	for _, second := range []string{"protocol", "whenUnsatisfiable"} { // parts of keys that no tag names
		if value := field(second); value.IsValid() {
			key += "/" + cmp.Or(value.String(), "TCP")
		}
	}
	return key
}

// elementOf returns the element of a list that has a key, or the zero value.
func elementOf(field reflect.StructField, list reflect.Value, key string) (element reflect.Value, ok bool) {
	for i := range list.Len() {
		if keyOf(field, list.Index(i)) == key {
			return list.Index(i), true
		}
	}
	return reflect.Zero(list.Type().Elem()), false
}

// removeDuplicates leaves the first one of the elements of a list that have the same key, in all lists of an object.
func removeDuplicates(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		removeDuplicates(value.Elem())
	case reflect.Slice:
		for i := range value.Len() {
			removeDuplicates(value.Index(i))
		}
	case reflect.Struct:
		for field, list := range value.Fields() {
			if !field.IsExported() {
				continue
			}
			removeDuplicates(list)
			if !merges(field) {
				continue
			}
			keys, once := []string{}, reflect.MakeSlice(list.Type(), 0, list.Len())
			for i := range list.Len() {
				if key := keyOf(field, list.Index(i)); !slices.Contains(keys, key) {
					keys, once = append(keys, key), reflect.Append(once, list.Index(i))
				}
			}
			list.Set(once)
		}
	}
}

// lacks reports whether a list in desired has an element with a key that no element of that list has in existing, and more elements
// than are owned of it. All are structs of one type, or pointers to them.
func lacks(existing, owned, desired reflect.Value) bool {
	switch desired.Kind() {
	case reflect.Pointer:
		return !desired.IsNil() && lacks(orZero(existing), orZero(owned), desired.Elem())
	case reflect.Struct:
		for field, wanted := range desired.Fields() {
			if !field.IsExported() {
				continue
			}
			there, ours := existing.FieldByIndex(field.Index), owned.FieldByIndex(field.Index)
			if !merges(field) {
				if lacks(there, ours, wanted) {
					return true
				}
				continue
			}
			for i := range wanted.Len() {
				key := keyOf(field, wanted.Index(i))
				element, isThere := elementOf(field, there, key)
				own, _ := elementOf(field, ours, key)
				if !isThere && ours.Len() < wanted.Len() || isThere && lacks(element, own, wanted.Index(i)) {
					return true
				}
			}
		}
	}
	return false
}

// orZero returns what a pointer points to, or the zero value of its type.
func orZero(pointer reflect.Value) reflect.Value {
	if pointer.IsNil() {
		return reflect.Zero(pointer.Type().Elem())
	}
	return pointer.Elem()
}
