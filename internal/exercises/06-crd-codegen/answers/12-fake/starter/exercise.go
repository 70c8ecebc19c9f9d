// Package exercise answers "A test that the fake passes". README.md has the task.
package exercise

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/fake"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

// Check tests a sync, and returns an error that says what is wrong with it.
//
// TODO: use databases, whose server is a real one.
func Check(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	sync func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error,
) error {
	d := &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example", Generation: 1},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db", Replicas: new(int32(2))},
	}
	client := fake.NewClientset(d).CoolopsV1alpha1().DatabaseManagers("default")
	if err := sync(ctx, client, d.Name); err != nil {
		return err
	}
	d, err := client.Get(ctx, d.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if d.Status.AvailableReplicas != 2 || d.Status.ObservedGeneration != 1 || !apimeta.IsStatusConditionTrue(d.Status.Conditions, "Ready") {
		return fmt.Errorf("the status is %+v", d.Status)
	}
	return nil
}
