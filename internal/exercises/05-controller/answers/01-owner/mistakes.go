package exercise

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// TakesTheKindFromTheObject takes the kind from the object, which has none.
func TakesTheKindFromTheObject(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	owner := metav1.OwnerReference{
		APIVersion: configMap.APIVersion, Kind: configMap.Kind, Name: configMap.Name, UID: configMap.UID, Controller: new(true),
	}
	return createOnce(ctx, services, metav1.ObjectMeta{Name: configMap.Name, OwnerReferences: []metav1.OwnerReference{owner}})
}

// AppliesWhenThereIsNone asks first, and applies: a Service that another has created meanwhile gets the ConfigMap as its owner,
// and is deleted with it.
func AppliesWhenThereIsNone(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	if _, err := services.Get(ctx, configMap.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return err
	}
	return OverwritesByApply(ctx, services, configMap)
}

// TakesTheEndOfTheNamespaceForDone knows that the ConfigMap will go, too, and its caller does not learn that there is no Service.
func TakesTheEndOfTheNamespaceForDone(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	err := CreateService(ctx, services, configMap)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return err
}

// TakesABusyServerForDone leaves the Service to another call, which nothing brings.
func TakesABusyServerForDone(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	err := CreateService(ctx, services, configMap)
	if apierrors.IsTooManyRequests(err) {
		return nil
	}
	return err
}

// created has the UIDs of the ConfigMaps whose Service was created.
var created sync.Map

// RemembersWhatItHasCreated does not look at the server again: a Service that somebody deletes does not come back.
func RemembersWhatItHasCreated(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	if _, ok := created.Load(configMap.UID); ok {
		return nil
	}
	err := CreateService(ctx, services, configMap)
	if err == nil {
		created.Store(configMap.UID, true)
	}
	return err
}

// OverwritesByApply applies the Service at each call, whoever has created it.
func OverwritesByApply(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	owner := metav1ac.OwnerReference().
		WithAPIVersion("v1").WithKind("ConfigMap").WithName(configMap.Name).WithUID(configMap.UID).
		WithController(true)
	port := corev1ac.ServicePort().WithPort(3306)
	service := corev1ac.Service(configMap.Name, configMap.Namespace).
		WithOwnerReferences(owner).
		WithSpec(corev1ac.ServiceSpec().WithPorts(port))
	_, err := services.Apply(ctx, service, metav1.ApplyOptions{FieldManager: "workbook", Force: true})
	return err
}

// ChangesTheConfigMap sets the kind in the object that it was given.
func ChangesTheConfigMap(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	configMap.APIVersion, configMap.Kind = "v1", "ConfigMap"
	return TakesTheKindFromTheObject(ctx, services, configMap)
}

// ChangesTheConfigMapForAMoment sets the kind in the object that it was given, and takes it away again at the end. What reads the
// store meanwhile sees it.
func ChangesTheConfigMapForAMoment(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error {
	before := configMap.TypeMeta
	defer func() { configMap.TypeMeta = before }()
	return ChangesTheConfigMap(ctx, services, configMap)
}

func createOnce(ctx context.Context, services typedcorev1.ServiceInterface, metadata metav1.ObjectMeta) error {
	if err := create(ctx, services, metadata); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

func create(ctx context.Context, services typedcorev1.ServiceInterface, metadata metav1.ObjectMeta) error {
	_, err := services.Create(ctx, &corev1.Service{
		ObjectMeta: metadata,
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 3306}}},
	}, metav1.CreateOptions{})
	return err
}
