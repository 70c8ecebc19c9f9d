// Package exercise answers "Find the bug: pods of strangers". README.md has the task.
package exercise

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// NewDeployment returns the Deployment of a DatabaseManager.
func NewDeployment(d *dbv1alpha1.DatabaseManager) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: d.Spec.DeploymentName, Labels: labelsOf(d)},
		Spec: appsv1.DeploymentSpec{
			Replicas: d.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: selectorOf(d)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(d)},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: string(d.Spec.Dbtype) + ":8.4.6"}}},
			},
		},
	}
}

// NewService returns the Service of a DatabaseManager.
func NewService(d *dbv1alpha1.DatabaseManager) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: d.Spec.DeploymentName, Labels: labelsOf(d)},
		Spec:       corev1.ServiceSpec{Selector: selectorOf(d), Ports: []corev1.ServicePort{{Port: 3306}}},
	}
}

// labelsOf returns the labels of a DatabaseManager's children and pods.
func labelsOf(d *dbv1alpha1.DatabaseManager) map[string]string {
	return map[string]string{"app": string(d.Spec.Dbtype)}
}

// selectorOf selects the pods.
func selectorOf(d *dbv1alpha1.DatabaseManager) map[string]string {
	return map[string]string{"app": string(d.Spec.Dbtype)}
}
