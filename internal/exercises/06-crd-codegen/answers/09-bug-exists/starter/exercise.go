// Package exercise answers "Find the bug: already exists". README.md has the task.
package exercise

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// Sync creates the Deployment of a DatabaseManager if there is none, and else brings its replicas up to date.
func Sync(ctx context.Context, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager) error {
	deployment, err := deployments.Get(ctx, d.Spec.DeploymentName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		deployment, err = deployments.Create(ctx, newDeployment(d), metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	if *deployment.Spec.Replicas == *d.Spec.Replicas {
		return nil
	}
	deployment.Spec.Replicas = d.Spec.Replicas
	_, err = deployments.Update(ctx, deployment, metav1.UpdateOptions{})
	return err
}

func newDeployment(d *dbv1alpha1.DatabaseManager) *appsv1.Deployment {
	labels := map[string]string{"app": string(d.Spec.Dbtype), "database": string(d.UID)}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name,
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: d.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: string(d.Spec.Dbtype) + ":8.4.6"}}},
			},
		},
	}
}
