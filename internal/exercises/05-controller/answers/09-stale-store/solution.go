// Package exercise answers "A stale store must not make two". README.md has the task.
package exercise

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	stored, err := lister.Secrets(configMap.Namespace).Get(configMap.Name)
	switch {
	case err == nil && metav1.IsControlledBy(stored, configMap):
		return nil
	case err == nil:
		return fmt.Errorf("there is a Secret %s, and this ConfigMap is not its controller", stored.Name)
	case !apierrors.IsNotFound(err):
		return err
	}
	// The name is the same each time. If the store is stale, the server answers AlreadyExists: whose Secret that is, the next
	// call sees in the store.
	secret := newSecret(configMap)
	secret.Name = configMap.Name
	_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	return err
}

// newSecret returns a Secret of a ConfigMap without a name, with a new password.
func newSecret(configMap *corev1.ConfigMap) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(configMap, corev1.SchemeGroupVersion.WithKind("ConfigMap")),
			},
		},
		StringData: map[string]string{"password": rand.Text()},
	}
}
