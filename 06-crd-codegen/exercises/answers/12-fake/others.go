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

// WaitsForTheStatus changes the spec before each of several syncs, and waits for the status, as a test of a running controller must.
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
	for _, replicas := range []int32{4, 2, 5} {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		changed, err := databases.Patch(ctx, created.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		if err := sync(ctx, databases, created.Name); err != nil {
			return err
		}
		var status dbv1alpha1.DatabaseManagerStatus
		err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			after, err := databases.Get(ctx, created.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			status = after.Status
			return apimeta.IsStatusConditionTrue(status.Conditions, "Ready") &&
				status.AvailableReplicas == replicas && status.ObservedGeneration == changed.Generation, nil
		})
		if err != nil {
			return fmt.Errorf("with %d replicas: status %+v: %w", replicas, status, err)
		}
	}
	return nil
}
