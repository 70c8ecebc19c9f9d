package exercise

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// Overwrites gives a Secret that is there a new password.
func Overwrites(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
) error {
	err := createIfMissing(ctx, lister, secrets, configMap)
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, newNamedSecret(configMap), metav1.UpdateOptions{})
	}
	return err
}

// DeletesTheOldOne deletes a Secret of its name that is not its own.
func DeletesTheOldOne(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
) error {
	err := createIfMissing(ctx, lister, secrets, configMap)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing, getErr := secrets.Get(ctx, configMap.Name, metav1.GetOptions{})
	if getErr != nil {
		return getErr
	}
	if metav1.IsControlledBy(existing, configMap) {
		return nil
	}
	if err := secrets.Delete(ctx, existing.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return err // the next call creates one
}

var created, tried sync.Map // UIDs of ConfigMaps

// RemembersWhatItHasCreated remembers it when Create has returned nil. If the answer is lost, it does not know what is there.
func RemembersWhatItHasCreated(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
) error {
	if _, known := created.Load(configMap.UID); known {
		return nil
	}
	err := createAnother(ctx, lister, secrets, configMap)
	if err == nil {
		created.Store(configMap.UID, true)
	}
	return err
}

// RemembersWhatItMayHaveCreated creates only once, also if the Secret is deleted. And another process knows nothing of it.
func RemembersWhatItMayHaveCreated(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
) error {
	if _, known := tried.LoadOrStore(configMap.UID, true); known {
		return nil
	}
	err := createAnother(ctx, lister, secrets, configMap)
	if _, answered := err.(apierrors.APIStatus); answered {
		tried.Delete(configMap.UID)
	}
	return err
}

// AddsTheUIDToTheName has a name that is longer than 253 characters if the ConfigMap's name is long.
func AddsTheUIDToTheName(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
) error {
	return createOnce(ctx, lister, secrets, configMap, configMap.Name+"-"+string(configMap.UID), nil)
}

// CutsTheName has the same name for two ConfigMaps whose names begin with the same 200 characters.
func CutsTheName(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
) error {
	return createOnce(ctx, lister, secrets, configMap, configMap.Name[:min(200, len(configMap.Name))]+"-secret", nil)
}

// HasTheNameInALabel forgets that the value of a label has at most 63 characters.
func HasTheNameInALabel(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
) error {
	return createOnce(ctx, lister, secrets, configMap, "database-"+string(configMap.UID), map[string]string{"configmap": configMap.Name})
}

// createOnce creates a Secret with this name if the store has none.
func createOnce(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
	name string, labels map[string]string,
) error {
	stored, err := lister.Secrets(configMap.Namespace).Get(name)
	if err == nil && metav1.IsControlledBy(stored, configMap) {
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	secret := newSecret(configMap)
	secret.Name, secret.Labels = name, labels
	_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	return err
}

// createAnother creates a Secret with a generated name if the store has none.
func createAnother(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
) error {
	stored, err := lister.Secrets(configMap.Namespace).List(labels.Everything())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(stored, func(secret *corev1.Secret) bool { return metav1.IsControlledBy(secret, configMap) }) {
		return nil
	}
	secret := newSecret(configMap)
	secret.GenerateName = configMap.Name + "-"
	_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	return err
}

// createIfMissing creates the Secret if the store has none.
func createIfMissing(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
) error {
	stored, err := lister.Secrets(configMap.Namespace).Get(configMap.Name)
	if err == nil && metav1.IsControlledBy(stored, configMap) {
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, err = secrets.Create(ctx, newNamedSecret(configMap), metav1.CreateOptions{})
	return err
}

func newNamedSecret(configMap *corev1.ConfigMap) *corev1.Secret {
	secret := newSecret(configMap)
	secret.Name = configMap.Name
	return secret
}

// AppliesAgain applies a new password each time. To apply twice is to apply once only if both are the same.
func AppliesAgain(
	ctx context.Context, lister corelisters.SecretLister, secrets typedcorev1.SecretInterface, configMap *corev1.ConfigMap,
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
