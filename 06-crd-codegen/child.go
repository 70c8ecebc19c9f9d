// child.go: what is common to all kinds of children, and what differs from one to the next.
// Before: children.go. Next: apply.go.

package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/ssa"
)

// child is a kind of child, such as Secret. Only childKind implements it: an interface can stand in a list together with
// others, whatever their types are.
type child interface {
	apply(ctx context.Context, d *dbv1alpha1.DatabaseManager) (metav1.Object, error)
	release(ctx context.Context, d *dbv1alpha1.DatabaseManager) error
	addHandler() error
}

// childKind is a child whose objects are O, such as *corev1.Secret, and whose apply configurations are A, such as
// *corev1ac.SecretApplyConfiguration.
type childKind[O ssa.Object, A ssa.Configuration[A]] struct {
	controller *Controller
	kind       string
	suffix     string // added to spec.deploymentName, makes the name
	informer   cache.TypedSharedIndexInformer[O]
	clientIn   func(namespace string) ssa.Client[O, A]
	extract    func(existing O, fieldManager string) (A, error)  // the fields of existing that the manager has applied
	desired    func(d *dbv1alpha1.DatabaseManager, existing O) A // existing is nil if there is none; the result is nil if none is desired
	canReplace bool                                              // ssa.KeepSpec or ssa.ReplaceSpec
}

// newChild returns a childKind. Go infers the types from the arguments; C is that of the kind's typed client.
func newChild[O ssa.Object, A ssa.Configuration[A], C ssa.Client[O, A]](
	controller *Controller,
	kind string,
	suffix string,
	informer cache.TypedSharedIndexInformer[O],
	clientIn func(namespace string) C,
	extract func(existing O, fieldManager string) (A, error),
	desired func(d *dbv1alpha1.DatabaseManager, existing O) A,
	canReplace bool,
) child {
	client := func(namespace string) ssa.Client[O, A] { return clientIn(namespace) }
	return childKind[O, A]{controller, kind, suffix, informer, client, extract, desired, canReplace}
}
