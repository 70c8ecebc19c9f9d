package exercise

import (
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// WaitsForTheStatus changes the spec before each of two syncs, and waits for the status, as a test of a running controller must.
func WaitsForTheStatus(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	sync func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error,
) error {
	created, err := databases.Create(ctx, &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "check-"},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MariaDB, DeploymentName: "db"},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for _, replicas := range []int32{4, 2} {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		if _, err := databases.Patch(ctx, created.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
		if err := sync(ctx, databases, created.Name); err != nil {
			return err
		}
		var d *dbv1alpha1.DatabaseManager
		err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (right bool, err error) {
			d, err = databases.Get(ctx, created.Name, metav1.GetOptions{}) // it is empty if there is an error
			return apimeta.IsStatusConditionTrue(d.Status.Conditions, "Ready") &&
				d.Status.AvailableReplicas == replicas && d.Status.ObservedGeneration == d.Generation, err
		})
		if err != nil {
			return fmt.Errorf("with %d replicas: status %+v: %w", replicas, d.Status, err)
		}
	}
	return nil
}
