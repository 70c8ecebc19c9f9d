// A wrong answer: to apply twice is to apply once, but not with a new password each time.

package exercise

import (
	"context"
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// EnsureSecret lets a ConfigMap have one Secret, with a random password.
func EnsureSecret(
	ctx context.Context,
	lister corelisters.SecretLister,
	secrets typedcorev1.SecretInterface,
	configMap *corev1.ConfigMap,
) error {
	if _, err := lister.Secrets(configMap.Namespace).Get(configMap.Name); !apierrors.IsNotFound(err) {
		return err
	}
	owner := metav1ac.OwnerReference().
		WithAPIVersion("v1").WithKind("ConfigMap").WithName(configMap.Name).WithUID(configMap.UID).
		WithController(true)
	secret := corev1ac.Secret(configMap.Name, configMap.Namespace).
		WithOwnerReferences(owner).
		WithStringData(map[string]string{"password": rand.Text()})
	_, err := secrets.Apply(ctx, secret, metav1.ApplyOptions{FieldManager: "workbook", Force: true})
	return err
}
