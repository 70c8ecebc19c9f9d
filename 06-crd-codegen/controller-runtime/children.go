// children.go: how this program reads and writes the children and the DatabaseManagers.
// Before: controller.go. Next: status.go.
//
// What a child may and may not become is no library's concern: packages children and database decide it, for chapter 6 and here.

package main

import (
	"context"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/client-go-workbook/06-crd-codegen/children"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/ssa"
)

// addChildren adds the kinds of children, in the order in which they are created.
func (r *reconciler) addChildren() {
	addKind(r, children.Secret, &corev1.Secret{})
	addKind(r, children.Claim, &corev1.PersistentVolumeClaim{})
	addKind(r, children.Deployment, &appsv1.Deployment{})
	addKind(r, children.Service, &corev1.Service{})
}

func addKind[O ssa.Object, A configuration[A]](r *reconciler, kind children.Kind[O, A], empty O) {
	children.Add(r.children, kind, access[O, A]{r, empty})
	r.watched = append(r.watched, watched{empty, kind.Suffix})
}

// watched is a kind of child: an object of it, and what is added to spec.deploymentName.
type watched struct {
	object client.Object
	suffix string
}

// configuration is an apply configuration that controller-runtime's client takes, too.
type configuration[A any] interface {
	ssa.Configuration[A]
	runtime.ApplyConfiguration
}

// access is the children.Access of a kind whose objects are O, and whose apply configurations are A.
type access[O ssa.Object, A configuration[A]] struct {
	*reconciler
	empty O
}

func (a access[O, A]) Stored(ctx context.Context, namespace, name string) (O, error) {
	o, err := a.read(ctx, a.reconciler, namespace, name)
	return o, client.IgnoreNotFound(err)
}

func (a access[O, A]) Client(d *dbv1alpha1.DatabaseManager) ssa.Client[O, A] {
	return writer[O, A]{a, d.Namespace}
}

// Wrote does nothing: the client waits for its own writes.
func (a access[O, A]) Wrote(*dbv1alpha1.DatabaseManager, O) {}

// read reads an object from the cache or from the server. It returns nil if there is an error.
func (a access[O, A]) read(ctx context.Context, from client.Reader, namespace, name string) (O, error) {
	var none O
	o := a.empty.DeepCopyObject().(O)
	if err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		return none, err
	}
	return o, nil
}

// writer has the methods of client-go's typed clients, which package ssa takes, for objects in one namespace.
type writer[O ssa.Object, A configuration[A]] struct {
	access[O, A]
	namespace string
}

func (w writer[O, A]) Get(ctx context.Context, name string, _ metav1.GetOptions) (O, error) {
	return w.read(ctx, w.server, w.namespace, name)
}

// Apply sends an apply configuration. Controller-runtime writes the answer into it: what was desired is overwritten.
func (w writer[O, A]) Apply(ctx context.Context, desired A, _ metav1.ApplyOptions) (O, error) {
	o := w.empty.DeepCopyObject().(O)
	if err := w.reconciler.Apply(ctx, desired, client.ForceOwnership); err != nil {
		return o, err
	}
	answer, err := json.Marshal(desired)
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(answer, o)
}

func (w writer[O, A]) Update(ctx context.Context, o O, _ metav1.UpdateOptions) (O, error) {
	return o, w.reconciler.Update(ctx, o)
}

func (w writer[O, A]) Patch(
	ctx context.Context, name string, t types.PatchType, patch []byte, _ metav1.PatchOptions, _ ...string,
) (O, error) {
	o := w.empty.DeepCopyObject().(O)
	o.SetNamespace(w.namespace)
	o.SetName(name)
	return o, w.reconciler.Patch(ctx, o, client.RawPatch(t, patch))
}

// FromServer reads d from the server. To wait for one's own writes does not make a cache new: after a start there are none, and others
// write, too.
func (r *reconciler) FromServer(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, error) {
	var fresh dbv1alpha1.DatabaseManager
	return &fresh, r.server.Get(ctx, client.ObjectKeyFromObject(d), &fresh)
}

// PatchFinalizers writes the list of finalizers. Without the lock, the patch would be a list without a resourceVersion: it would undo
// what others have changed meanwhile.
func (r *reconciler) PatchFinalizers(
	ctx context.Context, d *dbv1alpha1.DatabaseManager, finalizers []string,
) (*dbv1alpha1.DatabaseManager, error) {
	changed := d.DeepCopy() // the store's object must not be changed
	changed.Finalizers = finalizers
	return changed, r.Patch(ctx, changed, client.MergeFromWithOptions(d, client.MergeFromWithOptimisticLock{}))
}

// Siblings returns the DatabaseManagers that ask for the same names as d, and d. It reads from the cache itself: a List that waits for
// the own writes waits for those to all DatabaseManagers.
func (r *reconciler) Siblings(ctx context.Context, d *dbv1alpha1.DatabaseManager) ([]*dbv1alpha1.DatabaseManager, error) {
	var all dbv1alpha1.DatabaseManagerList
	fields := client.MatchingFields{byDeploymentName: d.Spec.DeploymentName}
	if err := r.cache.List(ctx, &all, client.InNamespace(d.Namespace), fields); err != nil {
		return nil, err
	}
	var siblings []*dbv1alpha1.DatabaseManager
	for i := range all.Items {
		siblings = append(siblings, &all.Items[i])
	}
	return siblings, nil
}
