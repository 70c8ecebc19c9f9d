// A wrong answer: it gives the store a second, and then creates one more.

package exercise

import (
	"context"
	"crypto/rand"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	for range 10 {
		stored, err := lister.Secrets(configMap.Namespace).List(labels.Everything())
		if err != nil {
			return err
		}
		for _, secret := range stored {
			if metav1.IsControlledBy(secret, configMap) {
				return nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	secret := newSecret(configMap)
	secret.Name, secret.GenerateName = "", configMap.Name+"-"
	_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
	return err
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
