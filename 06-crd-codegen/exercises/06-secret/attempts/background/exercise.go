package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
)

// CreatePassword gives the client no logger of its own: then client-go takes the one of the process, which logs the body.
func CreatePassword(ctx context.Context, secrets typedcorev1.SecretInterface, name, password string) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string][]byte{"password": []byte(password)},
	}
	logger := klog.FromContext(ctx)
	logger.Info("Creating a Secret", "secret", name)
	if _, err := secrets.Create(context.Background(), secret, metav1.CreateOptions{}); err != nil {
		logger.Error(err, "Cannot create the Secret", "secret", name)
		return fmt.Errorf("creating Secret %s: %w", name, err)
	}
	return nil
}
