package exercise

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

type (
	databases = dbclient.DatabaseManagerInterface
	secrets   = typedcorev1.SecretInterface
	database  = dbv1alpha1.DatabaseManager
)

// RemovesTheFinalizerFirst removes the finalizer while the children still have their owner.
func RemovesTheFinalizerFirst(ctx context.Context, databases databases, secrets secrets, d *database) error {
	if err := removeFinalizers(ctx, databases, d, isRetain); err != nil {
		return err
	}
	return removeOwners(ctx, secrets, d, isOwner(d))
}

// ComparesTheKindAndTheName takes a reference to a new DatabaseManager of the same name for its own.
func ComparesTheKindAndTheName(ctx context.Context, databases databases, secrets secrets, d *database) error {
	isOwner := func(owner metav1.OwnerReference) bool { return owner.Kind == "DatabaseManager" && owner.Name == d.Name }
	if err := removeOwners(ctx, secrets, d, isOwner); err != nil {
		return err
	}
	return removeFinalizers(ctx, databases, d, isRetain)
}

// ReleasesAllSecrets removes the controller, if it is a DatabaseManager, from each Secret of the namespace.
func ReleasesAllSecrets(ctx context.Context, databases databases, secrets secrets, d *database) error {
	all, err := secrets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, secret := range all.Items {
		secret.OwnerReferences = slices.DeleteFunc(secret.OwnerReferences, func(owner metav1.OwnerReference) bool {
			return owner.UID == d.UID || owner.Kind == "DatabaseManager" && owner.Controller != nil && *owner.Controller
		})
		if _, err := secrets.Update(ctx, &secret, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return removeFinalizers(ctx, databases, d, isRetain)
}

// RemovesTheFinalizerByItsIndex sends the index that the finalizer has in the store. By now, another one can have it.
func RemovesTheFinalizerByItsIndex(ctx context.Context, databases databases, secrets secrets, d *database) error {
	if err := removeOwners(ctx, secrets, d, isOwner(d)); err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `[{"op":"remove","path":"/metadata/finalizers/%d"}]`, slices.Index(d.Finalizers, finalizer))
	_, err := databases.Patch(ctx, d.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

// RemovesByTheIndexThatItHasJustRead asks the server for the index. It can change until the write.
func RemovesByTheIndexThatItHasJustRead(ctx context.Context, databases databases, secrets secrets, d *database) error {
	if err := removeOwners(ctx, secrets, d, isOwner(d)); err != nil {
		return err
	}
	now, err := databases.Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `[{"op":"test","path":"/metadata/uid","value":%q},{"op":"remove","path":"/metadata/finalizers/%d"}]`,
		d.UID, slices.Index(now.Finalizers, finalizer))
	_, err = databases.Patch(ctx, d.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

// RemovesAnOwnerByItsIndex sends the index that the reference had in the list of the children.
func RemovesAnOwnerByItsIndex(ctx context.Context, databases databases, secrets secrets, d *database) error {
	children, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: databaseLabel + "=" + string(d.UID)})
	if err != nil {
		return err
	}
	for _, child := range children.Items {
		i := slices.IndexFunc(child.OwnerReferences, isOwner(d))
		if i < 0 {
			continue
		}
		patch := fmt.Appendf(nil, `[{"op":"remove","path":"/metadata/ownerReferences/%d"}]`, i)
		if _, err := secrets.Patch(ctx, child.Name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return removeFinalizers(ctx, databases, d, isRetain)
}

// TakesTheFirstPageOnly releases a hundred children.
func TakesTheFirstPageOnly(ctx context.Context, databases databases, secrets secrets, d *database) error {
	page, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: databaseLabel + "=" + string(d.UID), Limit: 100})
	if err != nil {
		return err
	}
	for _, child := range page.Items {
		child.OwnerReferences = slices.DeleteFunc(child.OwnerReferences, isOwner(d))
		if _, err := secrets.Update(ctx, &child, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return removeFinalizers(ctx, databases, d, isRetain)
}

func isOwner(d *database) func(metav1.OwnerReference) bool {
	return func(owner metav1.OwnerReference) bool { return owner.UID == d.UID }
}

func isRetain(name string) bool { return name == finalizer }

// removeOwners removes owners of the children, and goes on if one fails.
func removeOwners(ctx context.Context, secrets secrets, d *database, remove func(metav1.OwnerReference) bool) error {
	children, err := secrets.List(ctx, metav1.ListOptions{LabelSelector: databaseLabel + "=" + string(d.UID)})
	if err != nil {
		return fmt.Errorf("listing the children: %w", err)
	}
	var errs []error
	for _, child := range children.Items {
		before := len(child.OwnerReferences)
		child.OwnerReferences = slices.DeleteFunc(child.OwnerReferences, remove)
		if len(child.OwnerReferences) == before {
			continue // done by an earlier call
		}
		_, err := secrets.Update(ctx, &child, metav1.UpdateOptions{})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func removeFinalizers(ctx context.Context, databases databases, d *database, remove func(name string) bool) error {
	changed := d.DeepCopy()
	changed.Finalizers = slices.DeleteFunc(changed.Finalizers, remove)
	_, err := databases.Update(ctx, changed, metav1.UpdateOptions{})
	return err
}
