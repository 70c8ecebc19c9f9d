// Package ssa applies a desired state to an existing object by server-side apply, and where an apply cannot undo what
// others have changed, by an update.
//
// An apply sets fields, and removes fields that the same manager has applied before. It leaves alone what others have
// added, even where that excludes the manager's own fields: a rollingUpdate beside the strategy Recreate, or a value
// beside a valueFrom. The server then answers each apply with Invalid. And where somebody has changed the field by which
// the server distinguishes the elements of a list, such as a container's name, an apply adds one more element.
//
// [Apply] finds both cases, and can then replace the spec as a whole. The spec then loses the fields that others have set.
//
// Owner references are apart from this: they are neither in what [Owned] returns, nor does an apply depend on them.
// [SetOwners] writes them, and nothing else.
package ssa

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/util/csaupgrade"
)

// Object is a pointer to an API object, such as *appsv1.Deployment.
type Object interface {
	metav1.Object
	runtime.Object
	comparable
}

// Configuration is a pointer to an apply configuration, such as *appsv1ac.DeploymentApplyConfiguration: an object in
// which each field can be left out. Its methods return A itself, so that calls can be chained.
type Configuration[A any] interface {
	comparable
	WithUID(types.UID) A
	WithResourceVersion(string) A
	WithOwnerReferences(...*metav1ac.OwnerReferenceApplyConfiguration) A
}

// Client is the part of a typed client, such as the client of Deployments, that is needed for objects O and their apply
// configurations A.
type Client[O Object, A Configuration[A]] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
	Apply(ctx context.Context, desired A, options metav1.ApplyOptions) (O, error)
	Update(ctx context.Context, object O, options metav1.UpdateOptions) (O, error)
	Patch(ctx context.Context, name string, t types.PatchType, patch []byte, options metav1.PatchOptions, sub ...string) (O, error)
}

// Owned returns the fields of existing that the manager has applied, without the owner references. It reads them with an
// Extract function of client-go. The first call in a process takes longest: Extract parses the schema of all of Kubernetes' types.
//
// Extract reads no object in which a list has an element twice, such as a variable of that name in env. The server accepts one, and
// the element is then owned by who has added it, and no longer by the manager. Owned reads a copy that has such elements once.
func Owned[O Object, A Configuration[A]](existing O, extract func(O, string) (A, error), fieldManager string) (A, error) {
	owned, err := extract(existing, fieldManager)
	if err != nil {
		once := existing.DeepCopyObject().(O)
		removeDuplicates(reflect.ValueOf(once))
		owned, err = extract(once, fieldManager)
	}
	if err != nil {
		var none A
		return none, fmt.Errorf("reading the managed fields: %w", err)
	}
	reflect.ValueOf(owned).Elem().FieldByName("OwnerReferences").SetZero()
	return owned, nil
}

// WithOwners adds owner references to an apply configuration, and returns it.
func WithOwners[A Configuration[A]](desired A, owners []metav1.OwnerReference) A {
	for _, owner := range owners {
		reference := metav1ac.OwnerReference()
		if err := convert(owner, reference); err != nil {
			panic(err) // they have the same fields
		}
		desired.WithOwnerReferences(reference)
	}
	return desired
}

// SetOwners replaces the owner references of existing that refer to this UID, changes nothing else, and returns the new object.
// An apply would not remove a reference that somebody else has set, too, and the server could reject what else is in it. If
// existing has changed since it was read, the error is a conflict.
func SetOwners[O Object, A Configuration[A]](
	ctx context.Context,
	client Client[O, A],
	existing O,
	uid types.UID,
	owners []metav1.OwnerReference,
	fieldManager string,
) (O, error) {
	isOurs := func(owner metav1.OwnerReference) bool { return owner.UID == uid }
	all := append(slices.DeleteFunc(slices.Clone(existing.GetOwnerReferences()), isOurs), owners...)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": existing.GetResourceVersion(), "ownerReferences": all,
	}})
	if err != nil {
		return existing, err
	}
	return client.Patch(ctx, existing.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
}

// The values of Apply's parameter canReplace.
const (
	KeepSpec    = false // also for kinds without a spec, such as a Secret or a ConfigMap
	ReplaceSpec = true
)

// Apply applies desired to existing, and returns the new object. If existing has changed since it was read, or is gone,
// or another object has its name, the error is a conflict.
//
// With [ReplaceSpec], it replaces the spec where an apply cannot undo a change. With [KeepSpec], such a change stays, or the
// error is Invalid. owned holds the fields of existing that the manager owns, as [Owned] returns them.
func Apply[O Object, A Configuration[A]](
	ctx context.Context,
	client Client[O, A],
	existing O,
	owned, desired A,
	canReplace bool,
	options metav1.ApplyOptions,
) (O, error) {
	apply := func(existing O) (O, error) {
		return client.Apply(ctx, desired.WithUID(existing.GetUID()).WithResourceVersion(existing.GetResourceVersion()), options)
	}
	if !canReplace {
		return apply(existing)
	}
	// Where nothing of the spec is owned, the object is new to the manager.
	if specOf(owned) == nil || !lacksElement(existing, owned, desired) {
		applied, err := apply(existing)
		if !apierrors.IsInvalid(err) {
			return applied, err
		}
	}
	existing, err := replace(ctx, client, existing, desired, options.FieldManager)
	if err != nil {
		return existing, err
	}
	return apply(existing)
}

// replace updates existing so that its spec has the fields of desired and no others, and returns the new object.
func replace[O Object, A Configuration[A]](
	ctx context.Context,
	client Client[O, A],
	existing O,
	desired A,
	fieldManager string,
) (O, error) {
	options := metav1.UpdateOptions{FieldManager: fieldManager}
	replaced, err := withSpec(existing, desired)
	if err == nil {
		replaced, err = client.Update(ctx, replaced, options) // with existing's resourceVersion
	}
	if err == nil {
		// The server has recorded the fields as updated by the manager. As applied fields they can be extracted and compared,
		// and an apply removes them when a later version of the program no longer sets them.
		err = csaupgrade.UpgradeManagedFields(replaced, sets.New(fieldManager), fieldManager)
	}
	if err == nil {
		replaced, err = client.Update(ctx, replaced, options)
	}
	if err != nil {
		return existing, fmt.Errorf("replacing the spec: %w", err)
	}
	return replaced, nil
}

// lacksElement reports whether somebody has removed an element of a list in the spec, or changed its key. Where desired has another
// key than before, the manager still owns the element with the old one, and an apply removes that.
func lacksElement[O Object](existing O, owned, desired any) bool {
	ours, err := withSpec(existing, owned)
	if err != nil {
		return true // replace returns the error
	}
	wanted, err := withSpec(existing, desired)
	return err != nil || lacks(specIn(existing), specIn(ours), specIn(wanted))
}

func specIn[O Object](object O) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName("Spec")
}

// withSpec returns a copy of existing with the spec of desired.
func withSpec[O Object](existing O, desired any) (O, error) {
	replaced := existing.DeepCopyObject().(O)
	spec := specIn(replaced)
	spec.SetZero()
	return replaced, convert(specOf(desired), spec.Addr().Interface())
}

// specOf returns the spec of an apply configuration as maps and slices.
func specOf(configuration any) any {
	var object struct{ Spec any }
	if err := convert(configuration, &object); err != nil {
		panic(err) // apply configurations exist to become JSON
	}
	return object.Spec
}

// convert writes a value into another that has the same form in JSON.
func convert(value, into any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
