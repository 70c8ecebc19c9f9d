package exercise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

type (
	databases = dbclient.DatabaseManagerInterface
	secrets   = typedcorev1.SecretInterface
	database  = dbv1alpha1.DatabaseManager
)

// TakesItFromAnotherOwner replaces the controller that the Secret has.
func TakesItFromAnotherOwner(ctx context.Context, databases databases, secrets secrets, d *database, name string) error {
	return adopt(ctx, secrets, d, name, func(secret *corev1.Secret) error {
		secret.OwnerReferences = slices.DeleteFunc(secret.OwnerReferences,
			func(owner metav1.OwnerReference) bool { return owner.Controller != nil && *owner.Controller })
		return errors.Join(checkAnnotation(secret, d), checkServer(ctx, databases, d))
	})
}

// SearchesTheAnnotationForTheName looks for the name anywhere in the annotation.
func SearchesTheAnnotationForTheName(ctx context.Context, databases databases, secrets secrets, d *database, name string) error {
	return adopt(ctx, secrets, d, name, func(secret *corev1.Secret) error {
		if !strings.Contains(secret.Annotations[adoptAnnotation], d.Name) {
			return fmt.Errorf("the Secret %s has no annotation %s: %s", secret.Name, adoptAnnotation, d.Name)
		}
		return errors.Join(checkOwner(secret), checkServer(ctx, databases, d))
	})
}

// IgnoresThatItIsNotAllowed returns nil, as if the Secret were adopted, if it has no permission.
func IgnoresThatItIsNotAllowed(ctx context.Context, databases databases, secrets secrets, d *database, name string) error {
	err := Adopt(ctx, databases, secrets, d, name)
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// ComparesTheNamesOnly takes a controller of the same kind and name for d. It can be an earlier or a later one.
func ComparesTheNamesOnly(ctx context.Context, databases databases, secrets secrets, d *database, name string) error {
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if owner := metav1.GetControllerOf(secret); owner != nil && owner.Kind == Kind.Kind && owner.Name == d.Name {
		return nil
	}
	return Adopt(ctx, databases, secrets, d, name)
}

// KnowsItsControllerByTheName asks for d, but takes a controller of an earlier one of its name for d.
func KnowsItsControllerByTheName(ctx context.Context, databases databases, secrets secrets, d *database, name string) error {
	if err := checkServer(ctx, databases, d); err != nil {
		return err
	}
	return ComparesTheNamesOnly(ctx, databases, secrets, d, name)
}

// AdoptsForOneThatIsGone adopts although the server does not say that d is there.
func AdoptsForOneThatIsGone(ctx context.Context, databases databases, secrets secrets, d *database, name string) error {
	return adopt(ctx, secrets, d, name, func(secret *corev1.Secret) error {
		fresh, err := databases.Get(ctx, d.Name, metav1.GetOptions{})
		if err == nil && (fresh.UID != d.UID || fresh.DeletionTimestamp != nil) {
			return fmt.Errorf("the DatabaseManager %s is deleted", d.Name)
		}
		return errors.Join(checkOwner(secret), checkAnnotation(secret, d))
	})
}

// BelievesTheStoreAfterAnError adopts if the server cannot say whether d is there.
func BelievesTheStoreAfterAnError(ctx context.Context, databases databases, secrets secrets, d *database, name string) error {
	return adopt(ctx, secrets, d, name, func(secret *corev1.Secret) error {
		fresh, err := databases.Get(ctx, d.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && (fresh.UID != d.UID || fresh.DeletionTimestamp != nil) {
			return fmt.Errorf("the DatabaseManager %s is deleted", d.Name)
		}
		return errors.Join(checkOwner(secret), checkAnnotation(secret, d))
	})
}

// FindsItsReferenceByTheName makes a reference with its kind and its name the controller. That can be an earlier one's.
func FindsItsReferenceByTheName(ctx context.Context, databases databases, secrets secrets, d *database, name string) error {
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(secret.OwnerReferences,
		func(owner metav1.OwnerReference) bool { return owner.Kind == Kind.Kind && owner.Name == d.Name })
	if i < 0 || metav1.GetControllerOf(secret) != nil {
		return Adopt(ctx, databases, secrets, d, name)
	}
	if err := errors.Join(checkAnnotation(secret, d), checkServer(ctx, databases, d)); err != nil {
		return err
	}
	secret.OwnerReferences[i].Controller = new(true)
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

// RemovesAnOwnerOfItsName takes a reference with its kind and its name for one of its own, and replaces it.
func RemovesAnOwnerOfItsName(ctx context.Context, databases databases, secrets secrets, d *database, name string) error {
	return adopt(ctx, secrets, d, name, func(secret *corev1.Secret) error {
		err := errors.Join(checkOwner(secret), checkAnnotation(secret, d), checkServer(ctx, databases, d))
		secret.OwnerReferences = slices.DeleteFunc(secret.OwnerReferences,
			func(owner metav1.OwnerReference) bool { return owner.Kind == Kind.Kind && owner.Name == d.Name })
		return err
	})
}

// AsksForDOnlyOnce checks the Secret again after a conflict. Meanwhile, d can be gone.
func AsksForDOnlyOnce(ctx context.Context, databases databases, secrets secrets, d *database, name string) error {
	if err := checkServer(ctx, databases, d); err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		return adopt(ctx, secrets, d, name, func(secret *corev1.Secret) error {
			err := errors.Join(checkOwner(secret), checkAnnotation(secret, d))
			secret.OwnerReferences = slices.DeleteFunc(secret.OwnerReferences,
				func(owner metav1.OwnerReference) bool { return owner.UID == d.UID })
			return err
		})
	})
}

// adopt is Adopt with other checks.
func adopt(ctx context.Context, secrets secrets, d *database, name string, check func(secret *corev1.Secret) error) error {
	secret, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if metav1.IsControlledBy(secret, d) {
		return nil
	}
	if err := check(secret); err != nil {
		return err
	}
	secret.OwnerReferences = append(secret.OwnerReferences, *metav1.NewControllerRef(d, Kind))
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}

func checkOwner(secret *corev1.Secret) error {
	if owner := metav1.GetControllerOf(secret); owner != nil {
		return fmt.Errorf("the Secret %s belongs to %s %s", secret.Name, owner.Kind, owner.Name)
	}
	return nil
}

func checkAnnotation(secret *corev1.Secret, d *database) error {
	if secret.Annotations[adoptAnnotation] != d.Name {
		return fmt.Errorf("the Secret %s has no annotation %s: %s", secret.Name, adoptAnnotation, d.Name)
	}
	return nil
}

func checkServer(ctx context.Context, databases databases, d *database) error {
	fresh, err := databases.Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if fresh.UID != d.UID || fresh.DeletionTimestamp != nil {
		return fmt.Errorf("the DatabaseManager %s is deleted", d.Name)
	}
	return nil
}
