package isolatedgroup

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// Two groups on one cluster: what is created in one does not exist in the other, an event comes at once, and nothing is left.
func TestTwoGroupsAreApart(t *testing.T) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	var created []types.UID // of the CRDs; others' tests have some, too
	t.Run("groups", func(t *testing.T) {
		open := func() dbclient.DatabaseManagerInterface {
			own := Config(t, config)
			testcluster.InstallDatabaseManagers(t, own)
			definition := testkit.Must(dynamic.NewForConfigOrDie(own).Resource(definitions).
				Get(t.Context(), "databasemanagers.coolops.cn", metav1.GetOptions{}))(t)
			created = append(created, definition.GetUID())
			names, _, err := unstructured.NestedStringSlice(definition.Object, "spec", "names", "shortNames")
			if err != nil || len(names) != 1 || names[0] == "dbm" {
				t.Errorf("short names %q, %v, want one that is not the reader's dbm", names, err)
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
		d = testkit.Must(one.Create(t.Context(), d, metav1.CreateOptions{}))(t)
		if event := <-watch.ResultChan(); event.Object.(*dbv1alpha1.DatabaseManager).UID != d.UID {
			t.Errorf("the watch has %v", event)
		}
		if d.Finalizers[0] != "coolops.cn/retain" {
			t.Errorf("the name is not replaced back: %v", d.Finalizers)
		}
		if list := testkit.Must(other.List(t.Context(), metav1.ListOptions{}))(t); len(list.Items) > 0 {
			t.Error("the object is in both groups")
		}
	})
	testkit.Await(t, "the CRDs to be gone", func() bool {
		all := testkit.Must(dynamic.NewForConfigOrDie(config).Resource(definitions).List(t.Context(), metav1.ListOptions{}))(t)
		return !slices.ContainsFunc(all.Items, func(crd unstructured.Unstructured) bool { return slices.Contains(created, crd.GetUID()) })
	})
}
