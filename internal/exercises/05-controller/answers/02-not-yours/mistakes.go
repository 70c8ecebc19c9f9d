package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// DecidesByTheServicesName takes a Service of the right name for its own.
func DecidesByTheServicesName(
	ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, service *corev1.Service, port int32,
) error {
	if service.Name != configMap.Name {
		return notOurs(configMap, service)
	}
	return write(ctx, services, service.DeepCopy(), port)
}

// DecidesByTheOwnersName compares the owner's name, not its UID.
func DecidesByTheOwnersName(
	ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, service *corev1.Service, port int32,
) error {
	owner := metav1.GetControllerOf(service)
	if owner == nil || owner.Kind != "ConfigMap" || owner.Name != configMap.Name {
		return notOurs(configMap, service)
	}
	return write(ctx, services, service.DeepCopy(), port)
}

// Adopts adopts a Service without a controller.
func Adopts(
	ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, service *corev1.Service, port int32,
) error {
	service = service.DeepCopy()
	if metav1.GetControllerOf(service) == nil {
		service.OwnerReferences = append(service.OwnerReferences,
			*metav1.NewControllerRef(configMap, corev1.SchemeGroupVersion.WithKind("ConfigMap")))
	}
	if !metav1.IsControlledBy(service, configMap) {
		return notOurs(configMap, service)
	}
	return write(ctx, services, service, port)
}

// ChangesTheStoresObjectForAMoment changes the store's object, writes it, and changes it back.
func ChangesTheStoresObjectForAMoment(
	ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, service *corev1.Service, port int32,
) error {
	if !metav1.IsControlledBy(service, configMap) {
		return notOurs(configMap, service)
	}
	before := service.Spec.Ports[0].Port
	defer func() { service.Spec.Ports[0].Port = before }()
	return write(ctx, services, service, port)
}

// SaysNothing returns nil when it writes nothing.
func SaysNothing(
	ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, service *corev1.Service, port int32,
) error {
	if !metav1.IsControlledBy(service, configMap) {
		return nil
	}
	return write(ctx, services, service.DeepCopy(), port)
}

// LooksAtTheFirstOwner does not look at the other owners.
func LooksAtTheFirstOwner(
	ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, service *corev1.Service, port int32,
) error {
	if len(service.OwnerReferences) == 0 || service.OwnerReferences[0].UID != configMap.UID || !metav1.IsControlledBy(service, configMap) {
		return notOurs(configMap, service)
	}
	return write(ctx, services, service.DeepCopy(), port)
}

// PatchesWhateverHasTheUID says which Service it means, and not which version: it can have another controller by now.
func PatchesWhateverHasTheUID(
	ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, service *corev1.Service, port int32,
) error {
	if !metav1.IsControlledBy(service, configMap) {
		return notOurs(configMap, service)
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{"ports":[{"port":%d}]}}`, service.UID, port)
	_, err := services.Patch(ctx, service.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// DecidesByTheStoreAndWritesToTheServers decides by the stored Service, and writes to the one that the server has now, which can
// have another controller.
func DecidesByTheStoreAndWritesToTheServers(
	ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, service *corev1.Service, port int32,
) error {
	if !metav1.IsControlledBy(service, configMap) {
		return notOurs(configMap, service)
	}
	current, err := services.Get(ctx, service.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if current.UID != service.UID {
		return notOurs(configMap, service)
	}
	return write(ctx, services, current, port)
}

// DecidesByTheServerAndPatches decides by what the server has, and does not say with the patch which version that was.
func DecidesByTheServerAndPatches(
	ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, service *corev1.Service, port int32,
) error {
	current, err := services.Get(ctx, service.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return PatchesWhateverHasTheUID(ctx, services, configMap, current, port)
}

// IgnoresTheErrorOfUpdate returns conflicts only.
func IgnoresTheErrorOfUpdate(
	ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, service *corev1.Service, port int32,
) error {
	if !metav1.IsControlledBy(service, configMap) {
		return notOurs(configMap, service)
	}
	if err := write(ctx, services, service.DeepCopy(), port); apierrors.IsConflict(err) {
		return err
	}
	return nil
}

func notOurs(configMap *corev1.ConfigMap, service *corev1.Service) error {
	return fmt.Errorf("the Service %s is not of ConfigMap %s", service.Name, configMap.Name)
}

func write(ctx context.Context, services typedcorev1.ServiceInterface, service *corev1.Service, port int32) error {
	service.Spec.Ports[0].Port = port
	_, err := services.Update(ctx, service, metav1.UpdateOptions{})
	return err
}
