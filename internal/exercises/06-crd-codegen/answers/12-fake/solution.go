// Package exercise answers "A test that the fake passes". README.md has the task.
package exercise

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
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
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db"}, // and one replica, the default
	}
	d, err := databases.Create(ctx, d, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := checkSync(ctx, databases, sync, d.Name); err != nil {
		return fmt.Errorf("first sync: %w", err)
	}
	// Only a real server counts the generations of the spec.
	d, err = databases.Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	d.Spec.Replicas = new(int32(3))
	if _, err := databases.Update(ctx, d, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := checkSync(ctx, databases, sync, d.Name); err != nil {
		return fmt.Errorf("sync after a change of the spec: %w", err)
	}
	return nil
}

// checkSync calls sync, and reads back from the server what has been stored.
func checkSync(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	sync func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error,
	name string,
) error {
	if err := sync(ctx, databases, name); err != nil {
		return err
	}
	d, err := databases.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	switch {
	case d.Status.ObservedGeneration != d.Generation:
		return fmt.Errorf("observedGeneration is %d, and the generation %d", d.Status.ObservedGeneration, d.Generation)
	case d.Status.AvailableReplicas != *d.Spec.Replicas:
		return fmt.Errorf("availableReplicas is %d, and spec.replicas %d", d.Status.AvailableReplicas, *d.Spec.Replicas)
	case !apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionReady):
		return fmt.Errorf("the conditions are %v", d.Status.Conditions)
	}
	return nil
}
