package exercise

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"

	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// Check changes the spec before each of several syncs, and collects what the server has.
func Check(
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
		syncErr := sync(ctx, databases, created.Name)
		after, err := databases.Get(ctx, created.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		ready := apimeta.IsStatusConditionTrue(after.Status.Conditions, "Ready")
		if syncErr != nil || !ready || after.Status.AvailableReplicas != replicas || after.Status.ObservedGeneration != changed.Generation {
			return fmt.Errorf("with %d replicas: error %v, status %+v", replicas, syncErr, after.Status)
		}
	}
	return nil
}
