// finalizer.go: adding and removing the finalizer.

package children

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
)

// setFinalizer adds or removes the finalizer, if need be, and returns the new object.
func (c *Children) setFinalizer(ctx context.Context, d *dbv1alpha1.DatabaseManager, wants bool) (*dbv1alpha1.DatabaseManager, error) {
	if database.HasFinalizer(d) == wants {
		return d, nil
	}
	updated, err := c.program.PatchFinalizers(ctx, d, database.WithFinalizer(d, wants))
	switch {
	case apierrors.IsNotFound(err):
		return d, fmt.Errorf("DatabaseManager %s is deleted: %w", d.Name, consistency.ErrStale)
	case err != nil:
		return d, fmt.Errorf("patching the finalizers: %w", err)
	}
	c.out.Line(map[bool]string{true: "ADDED", false: "REMOVED"}[wants], "finalizer %s of DatabaseManager %s/%s",
		database.Finalizer, d.Namespace, d.Name)
	return updated, nil
}
