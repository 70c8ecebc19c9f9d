// Package exercise answers "Nothing secret in a log". README.md has the task.
package exercise

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/klog/v2"

	"example.com/client-go-workbook/internal/program"
)

// CreatePassword creates a Secret with a password. It logs with the logger of ctx.
func CreatePassword(ctx context.Context, secrets typedcorev1.SecretInterface, name, password string) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string][]byte{"password": []byte(password)},
	}
	logger := klog.FromContext(ctx)
	logger.Info("Creating a Secret", "secret", name) // not the object: it has the password
	// The client takes the logger from the context, too. This one logs no bodies: it is disabled from verbosity 8 on.
	if _, err := secrets.Create(program.WithoutBodies(ctx), secret, metav1.CreateOptions{}); err != nil {
		logger.Error(err, "Cannot create the Secret", "secret", name)
		return fmt.Errorf("creating Secret %s: %w", name, err)
	}
	return nil
}
