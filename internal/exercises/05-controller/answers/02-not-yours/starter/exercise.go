// Package exercise answers "Leave alone what is not yours". README.md has the task.
package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// SetPort changes the port of a Service if the ConfigMap is its controller. If not, it writes nothing and returns an error
// that names the Service. Both objects are from a store; the Service has one port.
func SetPort(
	ctx context.Context,
	services typedcorev1.ServiceInterface,
	configMap *corev1.ConfigMap,
	service *corev1.Service,
	port int32,
) error {
	// TODO: Whose Service is it? And whose is the object in memory?
	service.Spec.Ports[0].Port = port
	_, err := services.Update(ctx, service, metav1.UpdateOptions{})
	return err
}
