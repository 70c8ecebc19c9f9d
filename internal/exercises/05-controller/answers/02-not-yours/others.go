package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// FindsTheOwnerItself finds the owner itself, and sends a patch.
func FindsTheOwnerItself(
	ctx context.Context,
	services typedcorev1.ServiceInterface,
	configMap *corev1.ConfigMap,
	service *corev1.Service,
	port int32,
) error {
	for _, owner := range service.OwnerReferences {
		if owner.Controller != nil && *owner.Controller && owner.UID == configMap.UID {
			// The server applies this patch to no other version: the owner can be another in the next one. And the version of an
			// object is no other object's.
			patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"spec":{"ports":[{"port":%d}]}}`, service.ResourceVersion, port)
			_, err := services.Patch(ctx, service.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			return err
		}
	}
	return fmt.Errorf("the Service %s has another controller, or none", service.Name)
}
