// Package exercise answers "Nothing secret in a log". README.md has the task.
package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"
)

// CreatePassword creates a Secret with a password. It logs with the logger of ctx.
//
// TODO: nothing secret in the log, nor in the error.
func CreatePassword(ctx context.Context, secrets typedcorev1.SecretInterface, name, password string) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string][]byte{"password": []byte(password)},
	}
	logger := klog.FromContext(ctx)
	logger.Info("Creating a Secret", "secret", secret)
	if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		logger.Error(err, "Cannot create it", "secret", secret)
		return fmt.Errorf("creating %+v: %w", secret, err)
	}
	return nil
}
