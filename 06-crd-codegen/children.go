// children.go: how this program reads and writes the children and the DatabaseManagers.
// Before: database/status.go. Next: status.go.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/children"
	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/ssa"
)

// addChildren adds the kinds of children, in the order in which they are created: pods cannot start without the Secret and the claim.
// Creating, watching and releasing them follow from this list. One more kind is one more entry here, what differs in children/kinds.go,
// and its permissions in deploy/rbac.yaml.
func (c *Controller) addChildren(clientset kubernetes.Interface, factory informers.SharedInformerFactory) error {
	core, apps := factory.Core().V1(), factory.Apps().V1()
	return errors.Join(
		addKind(c, children.Secret, core.Secrets().TypedInformer(), clientset.CoreV1().Secrets),
		addKind(c, children.Claim, core.PersistentVolumeClaims().TypedInformer(), clientset.CoreV1().PersistentVolumeClaims),
		addKind(c, children.Deployment, apps.Deployments().TypedInformer(), clientset.AppsV1().Deployments),
		addKind(c, children.Service, core.Services().TypedInformer(), clientset.CoreV1().Services),
	)
}

// addKind adds a kind, and a handler that enqueues the owners of each child that changes.
func addKind[O ssa.Object, A ssa.Configuration[A], Client ssa.Client[O, A]](
	c *Controller, kind children.Kind[O, A], informer cache.TypedSharedIndexInformer[O], clientIn func(namespace string) Client,
) error {
	children.Add(c.children, kind, typedAccess[O, A, Client]{c, kind.Name, informer, clientIn})
	enqueue := func(child cache.ObjectName) {
		if name, ok := strings.CutSuffix(child.Name, kind.Suffix); ok {
			c.enqueueOwners(deploymentNameIndex, child.Namespace+"/"+name)
		}
	}
	return addTypedHandler(c, informer, cache.TypedResourceEventHandlerFuncs[O]{
		AddFunc:    func(child O) { enqueue(cache.MetaObjectToName(child)) },
		UpdateFunc: func(_, child O) { enqueue(cache.MetaObjectToName(child)) },
		DeleteFunc: func(deleted cache.DeletedObject[O]) { enqueue(deleted.GetObjectName()) },
	})
}

// typedAccess is the children.Access of a kind: its informer's store, and a typed client, such as the client of Secrets.
type typedAccess[O ssa.Object, A ssa.Configuration[A], Client ssa.Client[O, A]] struct {
	controller *Controller
	kind       string
	informer   cache.TypedSharedIndexInformer[O]
	clientIn   func(namespace string) Client
}

func (a typedAccess[O, A, Client]) Stored(_ context.Context, namespace, name string) (O, error) {
	stored, _, err := a.informer.GetStore().GetByKey(namespace + "/" + name)
	existing, _ := stored.(O)
	return existing, err
}

func (a typedAccess[O, A, Client]) Client(d *dbv1alpha1.DatabaseManager) ssa.Client[O, A] {
	return a.clientIn(d.Namespace)
}

func (a typedAccess[O, A, Client]) Wrote(d *dbv1alpha1.DatabaseManager, object O) {
	a.controller.consistency.WroteAt(cache.MetaObjectToName(d), a.kind, a.informer.GetStore(), object.GetResourceVersion())
}

// FromServer reads d from the server.
func (c *Controller) FromServer(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, error) {
	return c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).Get(ctx, d.Name, metav1.GetOptions{})
}

// PatchFinalizers writes the list of finalizers.
func (c *Controller) PatchFinalizers(
	ctx context.Context, d *dbv1alpha1.DatabaseManager, finalizers []string,
) (*dbv1alpha1.DatabaseManager, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": d.ResourceVersion, "finalizers": finalizers}})
	if err != nil {
		return nil, err
	}
	updated, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).
		Patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: database.FieldManager})
	if err == nil {
		c.consistency.WroteAt(cache.MetaObjectToName(d), "DatabaseManager", c.databaseIndexer, updated.ResourceVersion)
	}
	return updated, err
}

// Siblings returns the DatabaseManagers that ask for the same names as d, and d.
func (c *Controller) Siblings(_ context.Context, d *dbv1alpha1.DatabaseManager) ([]*dbv1alpha1.DatabaseManager, error) {
	return c.databasesBy(deploymentNameIndex, d.Namespace+"/"+d.Spec.DeploymentName), nil
}
