package main

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/test/testkit"
)

// createThenScale creates a DatabaseManager without replicas, and then asks for some.
func createThenScale(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface, // +genclient
	replicas int32,
) (created, scaled *dbv1alpha1.DatabaseManager, err error) {
	created, err = databases.Create(ctx, &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "example-"},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db"},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, nil, err
	}
	scaled = created.DeepCopy() // +k8s:deepcopy-gen
	scaled.Spec.Replicas = &replicas
	scaled, err = databases.Update(ctx, scaled, metav1.UpdateOptions{})
	return created, scaled, err
}

func TestMarkersBecomeRules(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	created, scaled, err := createThenScale(t.Context(), e.databases, 5)
	if err != nil || *created.Spec.Replicas != 1 || *scaled.Spec.Replicas != 5 { // +kubebuilder:default=1
		t.Errorf("created %+v, scaled %+v, error %v", created, scaled, err)
	}
	created, _, err = createThenScale(t.Context(), e.databases, 6)
	if !apierrors.IsInvalid(err) { // +kubebuilder:validation:Maximum=5
		t.Errorf("6 replicas: error %v, want Invalid", err)
	}
	stored := testkit.Must(e.databases.Get(t.Context(), created.Name, metav1.GetOptions{}))(t)
	if *stored.Spec.Replicas != 1 {
		t.Errorf("%d replicas are stored, want 1", *stored.Spec.Replicas)
	}
}
