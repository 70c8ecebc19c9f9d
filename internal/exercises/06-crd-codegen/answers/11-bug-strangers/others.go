package exercise

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

type database = dbv1alpha1.DatabaseManager

// DeploymentOfAllLabels selects by each label that the pods have.
func DeploymentOfAllLabels(d *database) *appsv1.Deployment { return deploymentWith(d, uidOf, uidOf) }

// ServiceOfAllLabels selects by each label that the pods have.
func ServiceOfAllLabels(d *database) *corev1.Service { return serviceWith(d, uidOf, uidOf) }

func uidOf(d *database) map[string]string {
	return map[string]string{"app": string(d.Spec.Dbtype), "instance": string(d.UID)}
}

// deploymentWith returns the solution's Deployment with other labels and another selector.
func deploymentWith(d *database, labelsOf, selectorOf func(d *database) map[string]string) *appsv1.Deployment {
	deployment := NewDeployment(d)
	deployment.Labels, deployment.Spec.Template.Labels = labelsOf(d), labelsOf(d)
	deployment.Spec.Selector.MatchLabels = selectorOf(d)
	return deployment
}

// serviceWith returns the solution's Service with other labels and another selector.
func serviceWith(d *database, labelsOf, selectorOf func(d *database) map[string]string) *corev1.Service {
	service := NewService(d)
	service.Labels, service.Spec.Selector = labelsOf(d), selectorOf(d)
	return service
}
