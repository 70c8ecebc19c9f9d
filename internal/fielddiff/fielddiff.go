// Package fielddiff finds out what a write has changed in an object, and who has written.
//
// An event has the object's new state only. [Between] compares it with the state before, in the way in which the server
// itself finds out who changes what: by the schema of the object's type, in which the elements of a list have names. In the same
// way [Against] compares what an apply asks for with what there is. [Find] finds a field that managedFields name.
package fielddiff

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// maxFields is how many fields there is room for in a line.
const maxFields = 2

// Between returns the fields that differ between two states of an object, and the field managers that wrote them, as the
// end of a line: ": status.phase, status.podIP, by kubelet". A field inside a list is shown as the list. The text is empty
// if old is nil, or if nothing differs.
//
// The managers are the fields' owners in metadata.managedFields. The server records no owner for a field that is gone,
// for fields that it sets itself, such as metadata.deletionTimestamp, and for what the scheduler writes.
func Between(old, new runtime.Object) string {
	if old == nil {
		return ""
	}
	written, removed, err := compare(old, new)
	if err != nil {
		return fmt.Sprintf(": the change cannot be shown: %v", err)
	}
	fields := namesOf(written.Union(removed))
	if len(fields) == 0 {
		return ""
	}
	more := ""
	if len(fields) > maxFields {
		more = fmt.Sprintf(" and %d more", len(fields)-maxFields)
		fields = fields[:maxFields]
	}
	if managers := owners(new, written); len(managers) > 0 {
		more += ", by " + strings.Join(managers, " and ")
	}
	return ": " + strings.Join(fields, ", ") + more
}

// notCompared are the fields in which the server counts the writes. It records them in metadata.managedFields: see withSchema.
var notCompared = fieldpath.NewSet(
	fieldpath.MakePathOrDie("metadata", "generation"),
	fieldpath.MakePathOrDie("metadata", "resourceVersion"),
)

// compare returns the fields that are new or have another value, and those that are gone.
func compare(old, new runtime.Object) (written, removed *fieldpath.Set, err error) {
	defer func() { // the library panics at a value that it cannot encode
		if problem := recover(); problem != nil {
			err = fmt.Errorf("%v", problem)
		}
	}()
	before, err := withSchema(old)
	if err != nil {
		return nil, nil, err
	}
	after, err := withSchema(new)
	if err != nil {
		return nil, nil, err
	}
	comparison, err := before.Compare(after)
	if err != nil {
		return nil, nil, err
	}
	comparison.ExcludeFields(notCompared)
	return comparison.Added.Union(comparison.Modified), comparison.Removed, nil
}

// builtIn has the schemas of Kubernetes' own types. To read them takes some tenths of a second.
var builtIn = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

// withSchema returns an object with its schema. A custom resource's is not known here: then each list is one field, whose
// owner stays unknown.
func withSchema(object runtime.Object) (*typed.TypedValue, error) {
	object = object.DeepCopyObject()
	if kinds, _, err := scheme.Scheme.ObjectKinds(object); err == nil {
		// An object of a Go type does not say its kind, by which the schema is found.
		object.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	// These are not compared, and cannot be if they are broken.
	if metadata, err := apimeta.Accessor(object); err == nil {
		metadata.SetManagedFields(nil)
	}
	// The server accepts some lists with the same key twice, such as two ports with the same number.
	value, err := builtIn().ObjectToTyped(object, typed.AllowDuplicates)
	if err != nil {
		value, err = managedfields.NewDeducedTypeConverter().ObjectToTyped(object, typed.AllowDuplicates)
	}
	return value, err
}

// namesOf returns the fields' paths, sorted, each once. A path ends where it enters a list.
func namesOf(fields *fieldpath.Set) []string {
	var names []string
	for path := range fields.Leaves().All() {
		if list := slices.IndexFunc(path, func(e fieldpath.PathElement) bool { return e.FieldName == nil }); list >= 0 {
			path = path[:list]
		}
		names = append(names, strings.TrimPrefix(path.String(), "."))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// owners returns the field managers that own one of the fields.
func owners(object runtime.Object, fields *fieldpath.Set) []string {
	metadata, err := apimeta.Accessor(object)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range metadata.GetManagedFields() {
		var owned fieldpath.Set
		if entry.FieldsV1 == nil || owned.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
			continue // nothing that names a field
		}
		if !owned.Intersection(fields).Empty() {
			names = append(names, entry.Manager)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Field is a field that an apply sets.
type Field struct {
	Path     string `json:"path"` // such as spec.replicas
	Desired  any    `json:"desired"`
	Actual   any    `json:"actual"`   // nil: there is none
	Managers string `json:"managers"` // who owns it, by metadata.managedFields; empty: nobody
}

// identity are the fields of an apply by which the server finds the object.
var identity = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
	fieldpath.MakePathOrDie("metadata", "resourceVersion"),
	fieldpath.MakePathOrDie("metadata", "uid"),
)

// Against returns the fields that desired sets, which is what an apply sends, beside those of the object as it is, or nil. Those that
// differ come first.
func Against(desired, actual runtime.Object) (fields []Field, err error) {
	defer func() { // as in compare
		if problem := recover(); problem != nil {
			err = fmt.Errorf("%v", problem)
		}
	}()
	wanted, err := withSchema(desired)
	if err != nil {
		return nil, err
	}
	set, err := wanted.ToFieldSet()
	if err != nil {
		return nil, err
	}
	var is any
	if actual != nil {
		found, err := withSchema(actual)
		if err != nil {
			return nil, err
		}
		is = found.AsValue().Unstructured()
	}
	var same []Field
	for path := range set.Difference(identity).Leaves().All() {
		f := Field{Path: strings.TrimPrefix(path.String(), ".")}
		_, f.Desired, _ = Find(wanted.AsValue().Unstructured(), path)
		_, f.Actual, _ = Find(is, path)
		if actual != nil {
			f.Managers = strings.Join(owners(actual, fieldpath.NewSet(path)), " and ")
		}
		if reflect.DeepEqual(f.Desired, f.Actual) {
			same = append(same, f)
		} else {
			fields = append(fields, f)
		}
	}
	return append(fields, same...), nil
}

// Find returns the JSON pointer of a field, and its value. In managedFields, the elements of a list have keys or values; in a pointer, they
// have numbers. Ok says whether there is such a field.
func Find(object any, path fieldpath.Path) (pointer string, value any, ok bool) {
	for _, step := range path {
		fields, _ := object.(map[string]any)
		elements, _ := object.([]any)
		if step.FieldName != nil {
			if object, ok = fields[*step.FieldName]; !ok {
				return "", nil, false
			}
			pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(*step.FieldName)
			continue
		}
		at := slices.IndexFunc(elements, func(element any) bool {
			if step.Value != nil { // an element of a set
				return fmt.Sprint(element) == fmt.Sprint((*step.Value).Unstructured())
			}
			return step.Key != nil && hasKey(element, *step.Key) // an element of a list, such as the container with that name
		})
		if at < 0 {
			return "", nil, false
		}
		pointer, object = fmt.Sprintf("%s/%d", pointer, at), elements[at]
	}
	return pointer, object, true
}

// hasKey reports whether this is the element of a list with that key. A field that has its default need not be there.
func hasKey(element any, key value.FieldList) bool {
	fields, ok := element.(map[string]any)
	return ok && !slices.ContainsFunc(key, func(k value.Field) bool {
		is, ok := fields[k.Name]
		return ok && fmt.Sprint(is) != fmt.Sprint(k.Value.Unstructured())
	})
}
