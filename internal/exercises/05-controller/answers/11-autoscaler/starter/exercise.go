// Package exercise answers "Leave the number to an autoscaler". README.md has the task.
package exercise

import (
	"context"

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
	}
	// TODO: What does the server do with a field that an apply leaves out, and that an earlier one has set?
	_, err := deployments.Apply(ctx, desired, metav1.ApplyOptions{FieldManager: manager, Force: true})
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
