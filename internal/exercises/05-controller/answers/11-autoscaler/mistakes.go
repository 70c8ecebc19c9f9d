package exercise

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
)

// SendsTheNumberThatIsThere keeps the field for ever. What others set after its read, it undoes.
func SendsTheNumberThatIsThere(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	existing, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil && replicas == nil {
		replicas = existing.Spec.Replicas
	}
	return apply(ctx, deployments, name, image, replicas)
}

// SetsTheNumberAgain gives the number back after the apply. In between it is 1.
func SetsTheNumberAgain(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	existing, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	found := err == nil
	if err := apply(ctx, deployments, name, image, replicas); err != nil || !found || replicas != nil {
		return err
	}
	scale, err := deployments.GetScale(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.ResourceVersion, scale.Spec.Replicas = "", *existing.Spec.Replicas
	_, err = deployments.UpdateScale(ctx, name, scale, metav1.UpdateOptions{})
	return err
}

// HandsOverWithForce undoes what others have set since its read.
func HandsOverWithForce(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	existing, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	ours, err := appsv1ac.ExtractDeployment(existing, manager)
	if err != nil {
		return err
	}
	if replicas == nil && ours.Spec != nil && ours.Spec.Replicas != nil {
		number := appsv1ac.Deployment(name, "").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(*ours.Spec.Replicas))
		if _, err := deployments.Apply(ctx, number, metav1.ApplyOptions{FieldManager: "handover", Force: true}); err != nil {
			return err
		}
	}
	return apply(ctx, deployments, name, image, replicas)
}

// applied are the names that have got a number from this process.
var applied = map[string]bool{}

// RemembersInMemory hands over what this process has applied, and nothing of an earlier one.
func RemembersInMemory(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	if replicas == nil && !applied[name] {
		return apply(ctx, deployments, name, image, nil)
	}
	applied[name] = true
	return ApplyDeployment(ctx, deployments, name, image, replicas)
}

// NeverTakesItBack leaves out the number for a Deployment that is there.
func NeverTakesItBack(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	if _, err := deployments.Get(ctx, name, metav1.GetOptions{}); err == nil {
		replicas = nil
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	return ApplyDeployment(ctx, deployments, name, image, replicas)
}

// IsAnotherManagerWithoutForce is a new field manager where others decide the number. The image is the old one's.
func IsAnotherManagerWithoutForce(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	if replicas != nil {
		return apply(ctx, deployments, name, image, replicas)
	}
	_, err := deployments.Apply(ctx, deployment(name, image), metav1.ApplyOptions{FieldManager: "workbook-autoscaled"})
	return err
}

// CreatesItAnew deletes the Deployment, so that nobody has set anything.
func CreatesItAnew(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	if existing, err := deployments.Get(ctx, name, metav1.GetOptions{}); err == nil && replicas == nil {
		if err := deployments.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		replicas = existing.Spec.Replicas
	}
	return apply(ctx, deployments, name, image, replicas)
}

// HandsOverEachTime owns the number for ever, as "handover". An autoscaler that applies it has a conflict each time.
func HandsOverEachTime(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	existing, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		number := appsv1ac.Deployment(name, "").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(*existing.Spec.Replicas))
		if _, err := deployments.Apply(ctx, number, metav1.ApplyOptions{FieldManager: "handover"}); err != nil {
			return err
		}
	}
	return apply(ctx, deployments, name, image, replicas)
}

// ReplacesTheDeployment keeps the number, and nothing else that others have set.
func ReplacesTheDeployment(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	existing, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return apply(ctx, deployments, name, image, replicas)
	}
	if err != nil {
		return err
	}
	if replicas != nil {
		existing.Spec.Replicas = replicas
	}
	existing.Labels, existing.Annotations = nil, nil
	existing.Spec.Template.Spec.Containers[0].Image = image
	_, err = deployments.Update(ctx, existing, metav1.UpdateOptions{})
	return err
}

// handedOver are the names whose number this process has handed over.
var handedOver = map[string]bool{}

// RemembersTheHandover does it once. An earlier leader that leads again meanwhile can apply a number once more.
func RemembersTheHandover(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	if replicas != nil {
		delete(handedOver, name)
	}
	if !handedOver[name] {
		if err := ApplyDeployment(ctx, deployments, name, image, replicas); err != nil {
			return err
		}
		handedOver[name] = replicas == nil
		return nil
	}
	return apply(ctx, deployments, name, image, nil)
}

// TakesZeroForNil leaves the number out, if it is 0.
func TakesZeroForNil(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	if replicas != nil && *replicas == 0 {
		replicas = nil
	}
	return ApplyDeployment(ctx, deployments, name, image, replicas)
}

// ForcesTheSecondTry takes the first conflict only for one.
func ForcesTheSecondTry(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	err := ApplyDeployment(ctx, deployments, name, image, replicas)
	if !apierrors.IsConflict(err) || replicas != nil {
		return err
	}
	existing, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	number := appsv1ac.Deployment(name, "").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(*existing.Spec.Replicas))
	if _, err := deployments.Apply(ctx, number, metav1.ApplyOptions{FieldManager: "handover", Force: true}); err != nil {
		return err
	}
	return apply(ctx, deployments, name, image, nil)
}

// apply is what the task begins with.
func apply(
	ctx context.Context, deployments typedappsv1.DeploymentInterface, name, image string, replicas *int32,
) error {
	desired := deployment(name, image)
	if replicas != nil {
		desired.Spec.WithReplicas(*replicas)
	}
	_, err := deployments.Apply(ctx, desired, metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}
