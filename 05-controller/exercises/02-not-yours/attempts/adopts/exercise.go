// A wrong answer: a Service without a controller is adopted.

package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// SetPort changes the port of a Service if the ConfigMap is its controller. If not, it writes nothing and returns an error
// that names the Service.
func SetPort(
	ctx context.Context,
	services typedcorev1.ServiceInterface,
	configMap *corev1.ConfigMap,
	service *corev1.Service,
	port int32,
) error {
	service = service.DeepCopy()
	if metav1.GetControllerOf(service) == nil {
		service.OwnerReferences = append(service.OwnerReferences,
			*metav1.NewControllerRef(configMap, corev1.SchemeGroupVersion.WithKind("ConfigMap")))
	}
	if !metav1.IsControlledBy(service, configMap) {
		return fmt.Errorf("the Service %s is not of ConfigMap %s", service.Name, configMap.Name)
	}
	service.Spec.Ports[0].Port = port
	_, err := services.Update(ctx, service, metav1.UpdateOptions{})
	return err
}
