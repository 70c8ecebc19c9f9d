package exercise

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// AsksTheServer asks the server for all Secrets before it creates one. Only one worker has this ConfigMap's key.
func AsksTheServer(
	ctx context.Context,
	lister corelisters.SecretLister,
	secrets typedcorev1.SecretInterface,
	configMap *corev1.ConfigMap,
) error {
	if stored, err := lister.Secrets(configMap.Namespace).List(labels.Everything()); err != nil || controls(configMap, stored) {
		return err
	}
	current, err := secrets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var items []*corev1.Secret
	for i := range current.Items {
		items = append(items, &current.Items[i])
	}
	if controls(configMap, items) {
		return nil
	}
	secret := newSecret(configMap)
	secret.Name, secret.GenerateName = "", configMap.Name+"-"
	_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	return err
}

// controls reports whether a ConfigMap is the controller of one of these Secrets.
func controls(configMap *corev1.ConfigMap, secrets []*corev1.Secret) bool {
	return slices.ContainsFunc(secrets, func(secret *corev1.Secret) bool { return metav1.IsControlledBy(secret, configMap) })
}
