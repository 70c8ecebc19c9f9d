// children.go: which children a DatabaseManager has, what is common to all kinds, and what differs from one to the next.
// Before: reconcile.go. Next: database/database.go.

package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/ssa"
)

// childrenOf returns the kinds of children, in the order in which they are created: pods cannot start without the
// Secret and the claim. Creating, watching and releasing them follow from this list. One more kind is one more entry
// here, and its permissions in deploy/rbac.yaml.
func (c *Controller) childrenOf(clientset kubernetes.Interface, factory informers.SharedInformerFactory) []childKind {
	core, apps := factory.Core().V1(), factory.Apps().V1()
	return []childKind{
		newKind(c, "Secret", database.SecretSuffix, core.Secrets().TypedInformer(),
			clientset.CoreV1().Secrets, corev1ac.ExtractSecret, database.Secret, ssa.KeepSpec),
		newKind(c, "PersistentVolumeClaim", database.ClaimSuffix, core.PersistentVolumeClaims().TypedInformer(),
			clientset.CoreV1().PersistentVolumeClaims, corev1ac.ExtractPersistentVolumeClaim, database.Claim, ssa.KeepSpec),
		newKind(c, "Deployment", "", apps.Deployments().TypedInformer(),
			clientset.AppsV1().Deployments, appsv1ac.ExtractDeployment, database.Deployment, ssa.ReplaceSpec),
		newKind(c, "Service", "", core.Services().TypedInformer(),
			clientset.CoreV1().Services, corev1ac.ExtractService, database.Service, ssa.ReplaceSpec),
	}
}

// childKind is a kind of child, such as Secret. Only typedKind implements it: the interface hides the type
// parameters, so that all kinds fit into one slice.
type childKind interface {
	apply(ctx context.Context, d *dbv1alpha1.DatabaseManager, canCreate bool, ask asker) (metav1.Object, error)
	release(ctx context.Context, d *dbv1alpha1.DatabaseManager, ask asker) error
	addHandler() error
}

// typedKind is a kind whose objects are O, such as *corev1.Secret, and whose apply configurations are A, such as
// *corev1ac.SecretApplyConfiguration.
type typedKind[O ssa.Object, A ssa.Configuration[A]] struct {
	controller *Controller
	kind       string
	suffix     string // added to spec.deploymentName, makes the name
	informer   cache.TypedSharedIndexInformer[O]
	clientIn   func(namespace string) ssa.Client[O, A]
	extract    func(existing O, fieldManager string) (A, error)  // the fields of existing that the manager has applied
	desired    func(d *dbv1alpha1.DatabaseManager, existing O) A // existing is nil if there is none; the result is nil if none is desired
	canReplace bool                                              // ssa.KeepSpec or ssa.ReplaceSpec
}

// newKind returns a typedKind. Go infers the types from the arguments. C is the typed client's type: Go does not convert
// func(string) C to func(string) ssa.Client, although C implements it, so the function below does.
func newKind[O ssa.Object, A ssa.Configuration[A], C ssa.Client[O, A]](
	controller *Controller,
	kind string,
	suffix string,
	informer cache.TypedSharedIndexInformer[O],
	clientIn func(namespace string) C,
	extract func(existing O, fieldManager string) (A, error),
	desired func(d *dbv1alpha1.DatabaseManager, existing O) A,
	canReplace bool,
) childKind {
	client := func(namespace string) ssa.Client[O, A] { return clientIn(namespace) }
	return typedKind[O, A]{controller, kind, suffix, informer, client, extract, desired, canReplace}
}
