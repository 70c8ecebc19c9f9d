// Package exercise answers "No write when nothing differs". README.md has the task.
package exercise

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const fieldManager = "workbook"

// EnsureService lets the Service with that name have port 3306, the label workbook/database=true, and the selector app=APP.
// It writes only if one of them differs. Labels of others stay.
func EnsureService(ctx context.Context, services typedcorev1.ServiceInterface, name, app string) error {
	desired := corev1ac.Service(name, "").
		WithLabels(map[string]string{"workbook/database": "true"}).
		WithSpec(corev1ac.ServiceSpec().
			WithPorts(corev1ac.ServicePort().WithPort(3306)).
			WithSelector(map[string]string{"app": app}))
	service, err := services.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		// What we have applied, with the values of now: without defaults, without the fields of others.
		applied, err := corev1ac.ExtractService(service, fieldManager)
		if err != nil || apiequality.Semantic.DeepEqual(applied, desired.WithNamespace(service.Namespace)) {
			return err
		}
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	// It creates a Service that is missing, and leaves the fields of others alone.
	_, err = services.Apply(ctx, desired, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}
