package testcluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
)

func TestPrivateCluster(t *testing.T) {
	cluster := Start(t)
	configMaps := kubernetes.NewForConfigOrDie(cluster.Config()).CoreV1().ConfigMaps("default")
	create := func(name string) string {
		t.Helper()
		created, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return created.ResourceVersion
	}

	old := create("one")
	create("two")
	cluster.Compact(t)
	exact := metav1.ListOptions{ResourceVersion: old, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	cluster.StopAPIServer(t)
	if _, err := configMaps.Get(t.Context(), "one", metav1.GetOptions{}); !utilnet.IsConnectionRefused(err) {
		t.Errorf("with the API server stopped: got %v, want connection refused", err)
	}
	cluster.StartAPIServer(t)
	if _, err := configMaps.Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Errorf("with the API server started again: %v", err)
	}
	if _, err := configMaps.List(t.Context(), exact); !apierrors.IsResourceExpired(err) {
		t.Errorf("listing what was compacted: got %v, want expired", err)
	}
}
