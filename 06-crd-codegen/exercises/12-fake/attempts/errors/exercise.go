package exercise

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// Check tests a sync, and returns an error that says what is wrong with it.
func Check(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	sync func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error,
) error {
	d := &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Name: "example"},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db", Replicas: new(int32(2))},
	}
	d, err := databases.Create(ctx, d, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := sync(ctx, databases, d.Name); err != nil {
		return fmt.Errorf("first sync: %w", err)
	}
	return nil
}
