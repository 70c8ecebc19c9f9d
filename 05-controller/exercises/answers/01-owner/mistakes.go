package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// TakesTheKindFromTheObject takes the kind from the object, which has none.
func TakesTheKindFromTheObject(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	owner := metav1.OwnerReference{
		APIVersion: configMap.APIVersion, Kind: configMap.Kind, Name: configMap.Name, UID: configMap.UID, Controller: new(true),
	}
	return createOnce(ctx, services, metav1.ObjectMeta{Name: configMap.Name, OwnerReferences: []metav1.OwnerReference{owner}})
}

// DoesNotSetController sets an owner that is not the controller.
func DoesNotSetController(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: configMap.Name, UID: configMap.UID}
	return createOnce(ctx, services, metav1.ObjectMeta{Name: configMap.Name, OwnerReferences: []metav1.OwnerReference{owner}})
}

// SetsALabelInstead names the owner only in a label.
func SetsALabelInstead(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	return createOnce(ctx, services, metav1.ObjectMeta{Name: configMap.Name, Labels: map[string]string{"owner": configMap.Name}})
}

// FailsWhenCalledAgain returns AlreadyExists at the second call.
func FailsWhenCalledAgain(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	owner := metav1.NewControllerRef(configMap, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return create(ctx, services, metav1.ObjectMeta{Name: configMap.Name, OwnerReferences: []metav1.OwnerReference{*owner}})
}

func createOnce(ctx context.Context, services typedcorev1.ServiceInterface, metadata metav1.ObjectMeta) error {
	if err := create(ctx, services, metadata); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

func create(ctx context.Context, services typedcorev1.ServiceInterface, metadata metav1.ObjectMeta) error {
	_, err := services.Create(ctx, &corev1.Service{
		ObjectMeta: metadata,
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 3306}}},
	}, metav1.CreateOptions{})
	return err
}
