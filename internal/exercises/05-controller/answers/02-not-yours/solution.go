// Package exercise answers "Leave alone what is not yours". README.md has the task.
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
	// It compares UIDs: a ConfigMap that was deleted and created again is another one, whose Service this is not.
	if !metav1.IsControlledBy(service, configMap) {
		return fmt.Errorf("the Service %s exists and is not of ConfigMap %s", service.Name, configMap.Name)
	}
	service = service.DeepCopy() // the store's object is shared with all its readers
	service.Spec.Ports[0].Port = port
	_, err := services.Update(ctx, service, metav1.UpdateOptions{}) // with the resourceVersion that the decision is about
	return err
}
