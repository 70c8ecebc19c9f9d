package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// AsksFirst asks first, and applies.
func AsksFirst(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	if _, err := services.Get(ctx, configMap.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return err // nil, if the Service is there
	}
	owner := metav1ac.OwnerReference().
		WithAPIVersion("v1").WithKind("ConfigMap").WithName(configMap.Name).WithUID(configMap.UID).
		WithController(true)
	service := corev1ac.Service(configMap.Name, configMap.Namespace).
		WithOwnerReferences(owner).
		WithSpec(corev1ac.ServiceSpec().WithPorts(corev1ac.ServicePort().WithPort(3306)))
	_, err := services.Apply(ctx, service, metav1.ApplyOptions{FieldManager: "workbook"})
	return err
}
