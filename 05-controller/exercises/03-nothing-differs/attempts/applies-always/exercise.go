// A wrong answer: an apply changes nothing on the server, but it is sent each time.

package exercise

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// EnsureService lets the Service with that name have port 3306, the label workbook/database=true, and the selector app=APP.
func EnsureService(ctx context.Context, services typedcorev1.ServiceInterface, name, app string) error {
	desired := corev1ac.Service(name, "").
		WithLabels(map[string]string{"workbook/database": "true"}).
		WithSpec(corev1ac.ServiceSpec().
			WithPorts(corev1ac.ServicePort().WithPort(3306)).
			WithSelector(map[string]string{"app": app}))
	_, err := services.Apply(ctx, desired, metav1.ApplyOptions{FieldManager: "workbook", Force: true})
	return err
}
