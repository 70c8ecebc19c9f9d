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
	if err == nil && metav1.IsControlledBy(stored, configMap) {
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, err = secrets.Create(ctx, newSecret(configMap), metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	// Either the store has been stale, or the Secret is not ours. The server knows which.
	existing, err := secrets.Get(ctx, configMap.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(existing, configMap) {
		return fmt.Errorf("there is a Secret %s, and this ConfigMap is not its controller", existing.Name)
	}
	return nil
}

// newSecret returns the Secret of a ConfigMap, with a new password.
func newSecret(configMap *corev1.ConfigMap) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: configMap.Name,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(configMap, corev1.SchemeGroupVersion.WithKind("ConfigMap")),
			},
		},
		StringData: map[string]string{"password": rand.Text()},
	}
}
