package exercise

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
)

// HasTwoManagers has another one where others decide the number. The number stays the first one's, until others change it.
func HasTwoManagers(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	desired, owner := deployment(name, image), "workbook-autoscaled"
	if replicas != nil {
		desired.Spec.WithReplicas(*replicas)
		owner = manager
	}
	_, err := deployments.Apply(ctx, desired, metav1.ApplyOptions{FieldManager: owner, Force: true})
	return err
}

// UpdatesWhatItMeans sends the whole Deployment back with its resourceVersion, and changes two fields at most.
func UpdatesWhatItMeans(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	existing, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		labels := map[string]string{"app": name}
		_, err = deployments.Create(ctx, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{
				Replicas: replicas, Paused: true, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
				},
			},
		}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	if replicas != nil {
		existing.Spec.Replicas = replicas
	}
	existing.Spec.Template.Spec.Containers[0].Image = image
	_, err = deployments.Update(ctx, existing, metav1.UpdateOptions{})
	return err
}
