// Package exercise answers "No write when nothing differs". README.md has the task.
package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// EnsureService lets the Service with that name have port 3306, the label workbook/database=true, and the selector app=APP.
// It writes only if one of them differs. Labels of others stay.
func EnsureService(ctx context.Context, services typedcorev1.ServiceInterface, name, app string) error {
	service, err := services.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
		setFields(service, app)
		_, err := services.Create(ctx, service, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	// TODO: This writes each time.
	setFields(service, app)
	_, err = services.Update(ctx, service, metav1.UpdateOptions{})
	return err
}

// setFields sets what the controller wants.
func setFields(service *corev1.Service, app string) {
	service.Labels = map[string]string{"workbook/database": "true"}
	service.Spec = corev1.ServiceSpec{
		Ports:    []corev1.ServicePort{{Port: 3306}},
		Selector: map[string]string{"app": app},
	}
}
