package exercise

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
)

// SilencesTheClient gives the client a logger that logs nothing.
func SilencesTheClient(ctx context.Context, secrets typedcorev1.SecretInterface, name, password string) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string][]byte{"password": []byte(password)},
	}
	_, err := secrets.Create(klog.NewContext(ctx, logr.Discard()), secret, metav1.CreateOptions{})
	klog.FromContext(ctx).Info("Tried to create a Secret", "secret", name, "err", err)
	if err != nil {
		return fmt.Errorf("the Secret %s: %w", name, err)
	}
	return nil
}
