package v1alpha1_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbv1alpha1ac "example.com/client-go-workbook/06-crd-codegen/pkg/generated/applyconfiguration/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/fake"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestFakeUnderstandsApply shows that the generated fake clientset knows field managers, which it does because the
// apply configurations were generated from an OpenAPI schema.
func TestFakeUnderstandsApply(t *testing.T) {
	client := fake.NewClientset().CoolopsV1alpha1().DatabaseManagers("x")
	type spec = *dbv1alpha1ac.DatabaseManagerSpecApplyConfiguration
	apply := func(manager string, fields spec, force bool) (*dbv1alpha1.DatabaseManager, error) {
		desired := dbv1alpha1ac.DatabaseManager("db", "x").WithSpec(fields)
		return client.Apply(t.Context(), desired, metav1.ApplyOptions{FieldManager: manager, Force: force})
	}
	testkit.Must(apply("first", dbv1alpha1ac.DatabaseManagerSpec().WithDbtype(dbv1alpha1.MySQL).WithReplicas(1), false))(t)
	if _, err := apply("second", dbv1alpha1ac.DatabaseManagerSpec().WithReplicas(2), false); !apierrors.IsConflict(err) {
		t.Errorf("applying another's field: got %v, want a conflict", err)
	}
	object := testkit.Must(apply("second", dbv1alpha1ac.DatabaseManagerSpec().WithReplicas(2), true))(t)
	if *object.Spec.Replicas != 2 || object.Spec.Dbtype != dbv1alpha1.MySQL {
		t.Errorf("spec %+v, want the second's replicas beside the first's dbtype", object.Spec)
	}
	for manager, want := range map[string]bool{"first": false, "second": true} {
		owned := testkit.Must(dbv1alpha1ac.ExtractDatabaseManager(object, manager))(t)
		if got := owned.Spec.Replicas != nil; got != want {
			t.Errorf("whether %s owns replicas: %t, want %t", manager, got, want)
		}
	}

	// A field that is not applied again goes.
	testkit.Must(apply("first", dbv1alpha1ac.DatabaseManagerSpec().WithVersion("8.4.6"), false))(t)
	object = testkit.Must(client.Get(t.Context(), "db", metav1.GetOptions{}))(t)
	if object.Spec.Dbtype != "" || object.Spec.Version != "8.4.6" {
		t.Errorf("spec %+v, want dbtype gone and version set", object.Spec)
	}
}
