package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// SetsItsFieldsInACopy sets its fields in a copy of what is there, and compares the two.
func SetsItsFieldsInACopy(ctx context.Context, services typedcorev1.ServiceInterface, name, app string) error {
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
	desired := service.DeepCopy()
	setFields(desired, app)
	if apiequality.Semantic.DeepEqual(service, desired) {
		return nil
	}
	_, err = services.Update(ctx, desired, metav1.UpdateOptions{})
	return err
}

// setFields sets what the controller wants, and leaves all other fields as they are.
func setFields(service *corev1.Service, app string) {
	metav1.SetMetaDataLabel(&service.ObjectMeta, "workbook/database", "true")
	if len(service.Spec.Ports) != 1 {
		service.Spec.Ports = make([]corev1.ServicePort, 1)
	}
	service.Spec.Ports[0].Port = 3306
	service.Spec.Selector = map[string]string{"app": app}
}
