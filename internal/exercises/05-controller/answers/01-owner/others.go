package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// AsksFirst asks first, and writes the owner reference without help. The answer to Get can be old a moment later.
func AsksFirst(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	if _, err := services.Get(ctx, configMap.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return err // nil, if the Service is there
	}
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 3306}}}}
	service.Name = configMap.Name
	service.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: configMap.Name, UID: configMap.UID, Controller: new(true)},
	}
	if _, err := services.Create(ctx, service, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
