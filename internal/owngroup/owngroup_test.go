package owngroup

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/06-crd-codegen/crd"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/testcluster"
	"example.com/client-go-workbook/internal/testkit"
)

// Two groups on one cluster: what is created in one does not exist in the other, an event comes at once, and nothing is left.
func TestTwoGroupsAreApart(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	count := func() int {
		return len(testkit.Must(dynamic.NewForConfigOrDie(config).Resource(definitions).List(t.Context(), metav1.ListOptions{}))(t).Items)
	}
	before := count()
	shortNames := func(config *rest.Config) []string {
		definition := testkit.Must(dynamic.NewForConfigOrDie(config).Resource(definitions).
			Get(t.Context(), "databasemanagers.coolops.cn", metav1.GetOptions{}))(t)
		names, _, err := unstructured.NestedStringSlice(definition.Object, "spec", "names", "shortNames")
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	t.Run("groups", func(t *testing.T) {
		open := func() dbclient.DatabaseManagerInterface {
			own := Config(t, config)
			if err := crd.Install(t.Context(), own); err != nil {
				t.Fatal(err)
			}
			if names := shortNames(own); len(names) != 1 || names[0] == "dbm" {
				t.Errorf("short names %q, want one that is not the reader's dbm", names)
			}
			return dbclient.NewForConfigOrDie(own).DatabaseManagers(namespace)
		}
		one, other := open(), open()
		watch := testkit.Must(one.Watch(t.Context(), metav1.ListOptions{}))(t)
		defer watch.Stop()
		d := &dbv1alpha1.DatabaseManager{
			ObjectMeta: metav1.ObjectMeta{Name: "x", Finalizers: []string{"coolops.cn/retain"}},
			Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "x"},
		}
		created := testkit.Must(one.Create(t.Context(), d, metav1.CreateOptions{}))(t)
		if event := <-watch.ResultChan(); event.Object.(*dbv1alpha1.DatabaseManager).UID != created.UID {
			t.Errorf("the watch has %v", event)
		}
		if created.Finalizers[0] != "coolops.cn/retain" {
			t.Errorf("the name is not replaced back: %v", created.Finalizers)
		}
		if list := testkit.Must(other.List(t.Context(), metav1.ListOptions{}))(t); len(list.Items) > 0 {
			t.Error("the object is in both groups")
		}
	})
	testkit.Await(t, "the CRDs to be gone", func() bool { return count() <= before })
}
