package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// TakesAConflictForSuccess believes that another sync follows: nobody says so.
func TakesAConflictForSuccess(ctx context.Context, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager) error {
	if err := Sync(ctx, deployments, d); !apierrors.IsConflict(err) {
		return err
	}
	return nil
}

// RemovesTheOneThatTheBugHasCreated deletes a Deployment with the DatabaseManager's own name, which nobody has asked for.
func RemovesTheOneThatTheBugHasCreated(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager,
) error {
	if err := Sync(ctx, deployments, d); err != nil || d.Name == d.Spec.DeploymentName {
		return err
	}
	_, err := deployments.Get(ctx, d.Name, metav1.GetOptions{})
	if err == nil {
		err = deployments.Delete(ctx, d.Name, metav1.DeleteOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// ScalesTheOneThatTheBugHasCreated brings the replicas of both Deployments up to date.
func ScalesTheOneThatTheBugHasCreated(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager,
) error {
	if err := Sync(ctx, deployments, d); err != nil {
		return err
	}
	if _, err := deployments.Get(ctx, d.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	return sync(ctx, deployments, d, d.Name, metav1.ObjectMeta{Name: d.Name})
}

// AddsAnOwner lets the Deployment be deleted with its DatabaseManager, which nobody has asked for.
func AddsAnOwner(ctx context.Context, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager) error {
	owner := metav1.OwnerReference{
		APIVersion: dbv1alpha1.GroupVersion.String(), Kind: "DatabaseManager", Name: d.Name, UID: d.UID, Controller: new(true),
	}
	return sync(ctx, deployments, d, d.Spec.DeploymentName,
		metav1.ObjectMeta{Name: d.Spec.DeploymentName, OwnerReferences: []metav1.OwnerReference{owner}})
}

// AddsAPort gives the container a port, which nobody has asked for.
func AddsAPort(ctx context.Context, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager) error {
	_, err := deployments.Get(ctx, d.Spec.DeploymentName, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return Sync(ctx, deployments, d)
	}
	desired := newDeployment(d)
	desired.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 3306}}
	_, err = deployments.Create(ctx, desired, metav1.CreateOptions{})
	return err
}

// sync is Sync: it looks for the Deployment under this name, and creates it with this metadata.
func sync(
	ctx context.Context,
	deployments typedappsv1.DeploymentInterface,
	d *dbv1alpha1.DatabaseManager,
	name string,
	metadata metav1.ObjectMeta,
) error {
	deployment, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		desired := newDeployment(d)
		desired.ObjectMeta = metadata
		deployment, err = deployments.Create(ctx, desired, metav1.CreateOptions{})
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

// UpdatesWithANewObject sends what it would create today: what others have set is lost.
func UpdatesWithANewObject(ctx context.Context, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager) error {
	deployment, err := deployments.Get(ctx, d.Spec.DeploymentName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		deployment, err = deployments.Create(ctx, newDeployment(d), metav1.CreateOptions{})
	}
	if err != nil || *deployment.Spec.Replicas == *d.Spec.Replicas {
		return err
	}
	_, err = deployments.Update(ctx, newDeployment(d), metav1.UpdateOptions{})
	return err
}
