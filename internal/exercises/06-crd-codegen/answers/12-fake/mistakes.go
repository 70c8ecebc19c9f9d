package exercise

import (
	"context"
	"errors"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/fake"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
)

type (
	databases = dbclient.DatabaseManagerInterface
	syncFunc  = func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error
)

// CountsTheRequestsToTheFake looks at the requests that the fake has got.
func CountsTheRequestsToTheFake(ctx context.Context, databases databases, sync syncFunc) error {
	d := newDatabase()
	d.Namespace, d.Generation = "default", 1
	clientset := fake.NewClientset(d)
	client := clientset.CoolopsV1alpha1().DatabaseManagers("default")
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
	for _, action := range clientset.Actions() {
		if action.GetSubresource() == "status" {
			return nil
		}
	}
	return errors.New("no request writes the status")
}

// IgnoresTheErrorOfTheSecondSync believes that the status says enough.
func IgnoresTheErrorOfTheSecondSync(ctx context.Context, databases databases, sync syncFunc) error {
	synced := map[string]bool{}
	return Check(ctx, databases, func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error {
		err := sync(ctx, databases, name)
		if synced[name] {
			return nil
		}
		synced[name] = true
		return err
	})
}

// TakesAHigherGenerationForRight waits until the generation is observed, or a higher one.
func TakesAHigherGenerationForRight(ctx context.Context, databases databases, sync syncFunc) error {
	return checkTwice(ctx, databases, func(d *dbv1alpha1.DatabaseManager) error {
		if err := sync(ctx, databases, d.Name); err != nil {
			return err
		}
		var now *dbv1alpha1.DatabaseManager
		err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (right bool, err error) {
			now, err = databases.Get(ctx, d.Name, metav1.GetOptions{})
			return err == nil && now.Status.ObservedGeneration >= d.Generation && now.Status.AvailableReplicas == *d.Spec.Replicas &&
				apimeta.IsStatusConditionTrue(now.Status.Conditions, "Ready"), err
		})
		if err != nil {
			return fmt.Errorf("the status is %+v: %w", now.Status, err)
		}
		return nil
	})
}

// ComparesWithTheObjectBeforeTheSync compares the status with a generation that may not be the newest any more.
func ComparesWithTheObjectBeforeTheSync(ctx context.Context, databases databases, sync syncFunc) error {
	return checkTwice(ctx, databases, func(before *dbv1alpha1.DatabaseManager) error {
		if err := sync(ctx, databases, before.Name); err != nil {
			return err
		}
		d, err := databases.Get(ctx, before.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ObservedGeneration != before.Generation || d.Status.AvailableReplicas != *before.Spec.Replicas ||
			!apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionReady) {
			return fmt.Errorf("the status is %+v", d.Status)
		}
		return nil
	})
}

// IgnoresErrorsOfTheServer compares only if the server has answered.
func IgnoresErrorsOfTheServer(ctx context.Context, databases databases, sync syncFunc) error {
	return checkTwice(ctx, databases, func(d *dbv1alpha1.DatabaseManager) error {
		if err := sync(ctx, databases, d.Name); err != nil {
			return err
		}
		d, err := databases.Get(ctx, d.Name, metav1.GetOptions{})
		if err == nil && (d.Status.ObservedGeneration != d.Generation || d.Status.AvailableReplicas != *d.Spec.Replicas ||
			!apimeta.IsStatusConditionTrue(d.Status.Conditions, "Ready")) {
			return fmt.Errorf("the status is %+v", d.Status)
		}
		return nil
	})
}

// GivesSyncAFifthOfASecond takes a right sync that is slow for a wrong one.
func GivesSyncAFifthOfASecond(ctx context.Context, databases databases, sync syncFunc) error {
	return Check(ctx, databases, func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error {
		ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		return sync(ctx, databases, name)
	})
}

// checkTwice checks a new object, and checks it again when its spec has changed.
func checkTwice(ctx context.Context, databases databases, check func(*dbv1alpha1.DatabaseManager) error) error {
	d, err := databases.Create(ctx, newDatabase(), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := check(d); err != nil {
		return err
	}
	d, err = databases.Patch(ctx, d.Name, types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	return check(d)
}

func newDatabase() *dbv1alpha1.DatabaseManager {
	return &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Name: "example"},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db", Replicas: new(int32(2))},
	}
}
