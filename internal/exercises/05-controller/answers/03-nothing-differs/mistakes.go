package exercise

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ComparesAllLabels takes the labels of others for a difference.
func ComparesAllLabels(ctx context.Context, services typedcorev1.ServiceInterface, name, app string) error {
	return ensure(ctx, services, name, func(service *corev1.Service) {
		setFields(service, app)
		service.Labels = map[string]string{"workbook/database": "true"}
	})
}

// AddsToTheSelector keeps labels that others have added to the selector.
func AddsToTheSelector(ctx context.Context, services typedcorev1.ServiceInterface, name, app string) error {
	return ensure(ctx, services, name, func(service *corev1.Service) {
		selector := service.Spec.Selector
		setFields(service, app)
		for key, value := range selector {
			if key != "app" {
				service.Spec.Selector[key] = value
			}
		}
	})
}

// LooksForTheLabelsKey does not look at the label's value.
func LooksForTheLabelsKey(ctx context.Context, services typedcorev1.ServiceInterface, name, app string) error {
	return ensure(ctx, services, name, func(service *corev1.Service) {
		value, ok := service.Labels["workbook/database"]
		setFields(service, app)
		if ok {
			service.Labels["workbook/database"] = value
		}
	})
}

// HasNoMapForTheLabel writes into the map of labels, which is nil if a Service has none.
func HasNoMapForTheLabel(ctx context.Context, services typedcorev1.ServiceInterface, name, app string) error {
	return ensure(ctx, services, name, func(service *corev1.Service) {
		if service.UID == "" { // it is new
			setFields(service, app)
		}
		if service.Labels["workbook/database"] != "true" {
			service.Labels["workbook/database"] = "true"
		}
		service.Spec.Selector = map[string]string{"app": app}
	})
}

// ensure creates the Service, or updates it if set changes it.
func ensure(ctx context.Context, services typedcorev1.ServiceInterface, name string, set func(*corev1.Service)) error {
	service, err := services.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
		set(service)
		_, err = services.Create(ctx, service, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	desired := service.DeepCopy()
	set(desired)
	if apiequality.Semantic.DeepEqual(service, desired) {
		return nil
	}
	_, err = services.Update(ctx, desired, metav1.UpdateOptions{})
	return err
}
