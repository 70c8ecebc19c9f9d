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

// LogsTheObjectForDebugging silences the client, and logs the object itself at a high verbosity.
func LogsTheObjectForDebugging(ctx context.Context, secrets typedcorev1.SecretInterface, name, password string) error {
	secret := newSecret(name, password)
	ctx = program.WithoutBodies(ctx)
	klog.FromContext(ctx).V(5).Info("The Secret", "data", secret.Data)
	return create(ctx, ctx, secrets, secret)
}

// ReturnsTheObjectInTheError returns the object in the error, which somebody else will log.
func ReturnsTheObjectInTheError(ctx context.Context, secrets typedcorev1.SecretInterface, name, password string) error {
	secret := newSecret(name, password)
	ctx = program.WithoutBodies(ctx)
	if err := create(ctx, ctx, secrets, secret); err != nil {
		return fmt.Errorf("creating %v: %w", secret, err)
	}
	return nil
}

// DoesNotLogThatItHasFailed leaves that to its caller.
func DoesNotLogThatItHasFailed(ctx context.Context, secrets typedcorev1.SecretInterface, name, password string) error {
	klog.FromContext(ctx).Info("Creating a Secret", "secret", name)
	if _, err := secrets.Create(program.WithoutBodies(ctx), newSecret(name, password), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating Secret %s: %w", name, err)
	}
	return nil
}

func newSecret(name, password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string][]byte{"password": []byte(password)},
	}
}

// create logs with the logger of ctx, and lets the client log with the one of clientCtx.
func create(ctx, clientCtx context.Context, secrets typedcorev1.SecretInterface, secret *corev1.Secret) error {
	logger := klog.FromContext(ctx)
	logger.Info("Creating a Secret", "secret", secret.Name)
	if _, err := secrets.Create(clientCtx, secret, metav1.CreateOptions{}); err != nil {
		logger.Error(err, "Cannot create the Secret", "secret", secret.Name)
		return fmt.Errorf("creating Secret %s: %w", secret.Name, err)
	}
	return nil
}
