package exercise

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// AsksForWhatItCreates asks for the name of what it would create.
func AsksForWhatItCreates(ctx context.Context, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager) error {
	desired := newDeployment(d)
	deployment, err := deployments.Get(ctx, desired.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = deployments.Create(ctx, desired, metav1.CreateOptions{})
		return err
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
