// informer.go: the two factories that create the informers, client-go's and the generated one.
// Before: handler.go. Next: controller.go.

package main

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbinformers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions"
	dbv1alpha1informers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/shard"
)

// newFactory returns a factory for the informers of the selected objects. It starts none. The factory creates an informer
// when the program first asks for it, and StartWithContext runs it.
//
// There is no transform that strips managedFields: ExtractDeployment reads in them which fields this controller has set.
func newFactory(clientset kubernetes.Interface, s selection) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(clientset, s.resync,
		informers.WithNamespace(s.namespace),
		informers.WithTweakListOptions(s.tweak),
	)
}

// newDatabaseFactory is newFactory for the custom resource. Its package is generated, and has what client-go's has.
func newDatabaseFactory(databases versioned.Interface, s selection) dbinformers.SharedInformerFactory {
	return dbinformers.NewSharedInformerFactoryWithOptions(databases, s.resync,
		dbinformers.WithNamespace(s.namespace), dbinformers.WithTweakListOptions(s.tweak))
}

// selection says which objects the stores keep.
type selection struct {
	namespace string
	labels    labels.Selector
	shard     shard.Shard   // some of the namespaces
	resync    time.Duration // hands all objects to the handlers again; 0 never does
}

// tweak asks the server for these objects alone, in each list and watch.
func (s selection) tweak(options *metav1.ListOptions) {
	options.LabelSelector, options.ShardSelector = s.labels.String(), s.shard.String()
}

// databaseIndexers find DatabaseManagers by the name of the Deployment that they ask for, and by the UID that is a label of
// their pods.
var databaseIndexers = dbv1alpha1informers.DatabaseManagerIndexers{
	deploymentNameIndex: func(d *dbv1alpha1.DatabaseManager) ([]string, error) {
		return []string{d.Namespace + "/" + d.Spec.DeploymentName}, nil
	},
	firstOwnerIndex: func(d *dbv1alpha1.DatabaseManager) ([]string, error) { return []string{database.FirstOwner(d)}, nil },
}

const (
	deploymentNameIndex = "deploymentName"
	firstOwnerIndex     = "database.FirstOwner"
)
