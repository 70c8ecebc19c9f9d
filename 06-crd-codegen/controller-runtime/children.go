// children.go: the kinds of children, and how one is read, applied, owned and released.
// Before: controller.go. Next: status.go.
//
// Most of this is chapter 6's children.go, apply.go, ownership.go and release.go, where the reasons stand: what a child may and may not
// become is no library's concern. What differs are the reads and the writes.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/ssa"
)

// finalizer keeps a deleted DatabaseManager until its deletionPolicy has reached the children.
const finalizer = "coolops.cn/retain"

// childrenOf returns the kinds of children, in the order in which they are created.
func (r *reconciler) childrenOf() []childKind {
	return []childKind{
		kind[*corev1.Secret, *corev1ac.SecretApplyConfiguration]{
			r, "Secret", database.SecretSuffix, &corev1.Secret{}, corev1ac.ExtractSecret, database.Secret, ssa.KeepSpec},
		kind[*corev1.PersistentVolumeClaim, *corev1ac.PersistentVolumeClaimApplyConfiguration]{
			r, "PersistentVolumeClaim", database.ClaimSuffix, &corev1.PersistentVolumeClaim{}, corev1ac.ExtractPersistentVolumeClaim,
			database.Claim, ssa.KeepSpec},
		kind[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]{
			r, "Deployment", "", &appsv1.Deployment{}, appsv1ac.ExtractDeployment, database.Deployment, ssa.ReplaceSpec},
		kind[*corev1.Service, *corev1ac.ServiceApplyConfiguration]{
			r, "Service", "", &corev1.Service{}, corev1ac.ExtractService, database.Service, ssa.ReplaceSpec},
	}
}

// childKind is a kind of child. The interface hides the type parameters of kind.
type childKind interface {
	apply(ctx context.Context, d *dbv1alpha1.DatabaseManager, canCreate bool, ask asker) (client.Object, error)
	release(ctx context.Context, d *dbv1alpha1.DatabaseManager, ask asker) error
	nameSuffix() string
	newObject() client.Object
}

// configuration is an apply configuration that controller-runtime's client takes, too.
type configuration[A any] interface {
	ssa.Configuration[A]
	runtime.ApplyConfiguration
}

// kind is a kind whose objects are O, and whose apply configurations are A.
type kind[O ssa.Object, A configuration[A]] struct {
	*reconciler
	name       string
	suffix     string
	empty      O
	extract    func(existing O, fieldManager string) (A, error)
	desired    func(d *dbv1alpha1.DatabaseManager, existing O) A
	canReplace bool
}

func (k kind[O, A]) nameSuffix() string       { return k.suffix }
func (k kind[O, A]) newObject() client.Object { return k.empty }

// apply brings a child in line with its desired state, its owner reference first, and sends nothing if nothing differs.
func (k kind[O, A]) apply(ctx context.Context, d *dbv1alpha1.DatabaseManager, canCreate bool, ask asker) (client.Object, error) {
	var none A
	var missing O
	w, name := k.writer(d), d.Spec.DeploymentName+k.suffix
	existing, err := w.read(ctx, k.Client, name)
	if client.IgnoreNotFound(err) != nil {
		return nil, failure.Unowned{Err: fmt.Errorf("reading %s %s: %w", k.name, name, err)}
	}
	desired := k.desired(d, existing)
	if desired == none || !canCreate && (existing == missing || !belongsTo(existing, d)) {
		return nil, nil
	}
	if existing == missing {
		owners := database.OwnerReferences(d)
		if d.Status.ObservedGeneration > 0 || k.stale.NumRequeues(requestOf(d)) > 0 || len(owners) == 0 {
			if err := ask(); err != nil {
				return nil, err
			}
		}
		// A plain apply would change what the cache does not have. No object has a resourceVersion so old: this one can only create.
		created, createErr := w.Apply(ctx, ssa.WithOwners(desired, owners).WithResourceVersion("1"), applyOptions)
		if createErr == nil {
			return created, k.wrote(d, created, "CREATED")
		}
		existing, err = w.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) && !apierrors.IsConflict(createErr):
			return nil, fmt.Errorf("creating %s %s: %w", k.name, name, createErr)
		case apierrors.IsNotFound(err):
			return nil, fmt.Errorf("reading %s %s: %w", k.name, name, err)
		case err != nil:
			return nil, failure.Unowned{Err: fmt.Errorf("reading %s %s: %w", k.name, name, err)}
		}
		desired = k.desired(d, existing)
	}
	if !belongsTo(existing, d) {
		return nil, nameTaken(d, k.name, existing)
	}
	if existing, err = k.setOwner(ctx, d, existing, ask); err != nil {
		return existing, err
	}
	owned := ssa.Owned(existing, k.extract, database.FieldManager)
	if apiequality.Semantic.DeepEqual(owned, desired) {
		return existing, nil
	}
	if err := ask(); err != nil {
		return existing, err
	}
	desired = ssa.WithOwners(desired, database.OwnerReferences(d))
	applied, err := ssa.Apply(ctx, w, existing, owned, desired, k.canReplace, applyOptions)
	if err != nil {
		return existing, fmt.Errorf("updating %s %s: %w", k.name, name, err)
	}
	return applied, k.wrote(d, applied, "UPDATED")
}

var applyOptions = metav1.ApplyOptions{FieldManager: database.FieldManager, Force: true}

// wrote reports that a child was written.
func (k kind[O, A]) wrote(d *dbv1alpha1.DatabaseManager, child O, word string) error {
	k.out.Line(word, "%s %s/%s for DatabaseManager %s", k.name, child.GetNamespace(), child.GetName(), d.Name)
	if child.GetLabels()[database.ManagedByLabel] != database.FieldManager {
		return failure.Blocked{Reason: reasonLabelChanged, Message: fmt.Sprintf("an admission policy or webhook has changed "+
			"the label %s of %s %s: exempt the controller's objects from it", database.ManagedByLabel, k.name, child.GetName())}
	}
	return nil
}

// setOwner brings the owner reference of a child in line with database.OwnerReferences, and changes nothing else.
func (k kind[O, A]) setOwner(ctx context.Context, d *dbv1alpha1.DatabaseManager, existing O, ask asker) (O, error) {
	wants := database.OwnerReferences(d)
	if apiequality.Semantic.DeepEqual(ssa.OwnersOf(existing, d.UID), wants) {
		return existing, nil
	}
	owned, err := existing, ask()
	if err == nil {
		owned, err = ssa.SetOwners(ctx, k.writer(d), existing, d.UID, wants, database.FieldManager)
	}
	if apierrors.IsNotFound(err) {
		err = consistency.ErrStale // it is deleted
	}
	if err != nil {
		err = fmt.Errorf("deletionPolicy %s has not reached %s %s yet: %w", d.Spec.DeletionPolicy, k.name, existing.GetName(), err)
		return existing, failure.Unowned{Err: err}
	}
	_ = k.wrote(d, owned, map[bool]string{true: "ADOPTED", false: "RELEASED"}[len(wants) > 0])
	return owned, nil
}

// release brings a child's owner reference in line when its DatabaseManager is deleted. It reads from the server.
func (k kind[O, A]) release(ctx context.Context, d *dbv1alpha1.DatabaseManager, ask asker) error {
	var none A
	name := d.Spec.DeploymentName + k.suffix
	existing, err := k.writer(d).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return failure.Unowned{Err: fmt.Errorf("reading %s %s: %w", k.name, name, err)}
	case !belongsTo(existing, d) || k.desired(d, existing) == none:
		return nil
	}
	hasOwner, wantsOwner := metav1.IsControlledBy(existing, d), len(database.OwnerReferences(d)) > 0
	if wantsOwner && !hasOwner && !slices.Contains(d.Finalizers, finalizer) {
		return failure.Unowned{Err: failure.Blocked{Reason: reasonOrphaned, Message: fmt.Sprintf(
			"%s %s has no owner reference any more, and stays: delete it yourself", k.name, name)}}
	}
	_, err = k.setOwner(ctx, d, existing, ask)
	return err
}

// writer has the methods of client-go's typed clients, which package ssa takes, for objects O in one namespace.
type writer[O ssa.Object, A configuration[A]] struct {
	*reconciler
	namespace string
	empty     O
}

func (k kind[O, A]) writer(d *dbv1alpha1.DatabaseManager) writer[O, A] {
	return writer[O, A]{k.reconciler, d.Namespace, k.empty}
}

// read reads an object from the cache or from the server. It returns nil if there is an error.
func (w writer[O, A]) read(ctx context.Context, from client.Reader, name string) (O, error) {
	var none O
	o := w.empty.DeepCopyObject().(O)
	if err := from.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, o); err != nil {
		return none, err
	}
	return o, nil
}

func (w writer[O, A]) Get(ctx context.Context, name string, _ metav1.GetOptions) (O, error) {
	return w.read(ctx, w.server, name)
}

// Apply sends an apply configuration. Controller-runtime writes the answer into it: what was desired is overwritten.
func (w writer[O, A]) Apply(ctx context.Context, desired A, _ metav1.ApplyOptions) (O, error) {
	o := w.empty.DeepCopyObject().(O)
	if err := w.Client.Apply(ctx, desired, client.ForceOwnership); err != nil {
		return o, err
	}
	answer, err := json.Marshal(desired)
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(answer, o)
}

func (w writer[O, A]) Update(ctx context.Context, o O, _ metav1.UpdateOptions) (O, error) {
	return o, w.Client.Update(ctx, o)
}

func (w writer[O, A]) Patch(
	ctx context.Context, name string, t types.PatchType, patch []byte, _ metav1.PatchOptions, _ ...string,
) (O, error) {
	o := w.empty.DeepCopyObject().(O)
	o.SetNamespace(w.namespace)
	o.SetName(name)
	return o, w.Client.Patch(ctx, o, client.RawPatch(t, patch))
}
