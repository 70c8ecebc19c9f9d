package main

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbinformers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions"
	dbinformersv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions/databasemanager/v1alpha1"
)

// selection says what to keep in the stores.
type selection struct {
	namespace string
	labels    labels.Selector
	resync    time.Duration
}

// newFactory returns a factory for the informers of all chosen objects. It starts none: an informer exists from
// the moment that somebody asks the factory for it, and runs from StartWithContext on.
func newFactory(clientset kubernetes.Interface, s selection) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(clientset, s.resync,
		informers.WithNamespace(s.namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.LabelSelector = s.labels.String()
		}),
	)
}

// newDatabaseFactory is newFactory for our own kind: the generated factory is made as client-go's is.
func newDatabaseFactory(databases versioned.Interface, s selection) dbinformers.SharedInformerFactory {
	return dbinformers.NewSharedInformerFactoryWithOptions(databases, s.resync,
		dbinformers.WithNamespace(s.namespace),
		dbinformers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.LabelSelector = s.labels.String()
		}),
	)
}

// byDeploymentName indexes DatabaseManagers by the Deployment that they ask for, byUID indexes them and their pods by the
// DatabaseManager's UID.
const (
	byDeploymentName = "deploymentName"
	byUID            = "uid"
)

var databaseIndexes = dbinformersv1alpha1.DatabaseManagerIndexers{
	byDeploymentName: func(d *dbv1alpha1.DatabaseManager) ([]string, error) {
		return []string{d.Namespace + "/" + d.Spec.DeploymentName}, nil
	},
	byUID: func(d *dbv1alpha1.DatabaseManager) ([]string, error) { return []string{string(d.UID)}, nil },
}
