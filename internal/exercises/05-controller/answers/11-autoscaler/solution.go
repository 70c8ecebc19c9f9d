// Package exercise answers "Leave the number to an autoscaler". README.md has the task.
package exercise

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
)

// manager is the field manager of your applies, also of those in earlier processes.
const manager = "workbook"

// ApplyDeployment lets the Deployment have this image, and this number of replicas. With nil, others decide the number.
func ApplyDeployment(
	ctx context.Context,
	deployments typedappsv1.DeploymentInterface,
	name, image string,
	replicas *int32,
) error {
	desired := deployment(name, image)
	if replicas != nil {
		desired.Spec.WithReplicas(*replicas)
	} else if err := handOver(ctx, deployments, name); err != nil {
		return err
	}
	_, err := deployments.Apply(ctx, desired, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

// handOver has another field manager apply the number, too, if it is ours: what an apply leaves out stays if somebody else has set it.
func handOver(ctx context.Context, deployments typedappsv1.DeploymentInterface, name string) error {
	existing, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	ours, err := appsv1ac.ExtractDeployment(existing, manager)
	if err != nil || ours.Spec == nil || ours.Spec.Replicas == nil {
		return err
	}
	// Without Force: if others have changed the number since the Get, it is theirs, and the server answers with a conflict.
	number := appsv1ac.Deployment(name, "").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(*ours.Spec.Replicas))
	_, err = deployments.Apply(ctx, number, metav1.ApplyOptions{FieldManager: "handover"})
	return err
}

// deployment is the Deployment without the number of replicas. It has no namespace: the client has one.
func deployment(name, image string) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": name}
	return appsv1ac.Deployment(name, "").WithSpec(appsv1ac.DeploymentSpec().
		WithPaused(true). // no pods: only the number counts here
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).WithSpec(corev1ac.PodSpec().
			WithContainers(corev1ac.Container().WithName("web").WithImage(image)))))
}
