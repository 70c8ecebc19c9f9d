package main

import (
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestFeatureGates switches client-go's gates that change requests, for the typed and the dynamic client. The program sees
// the same events as without: it chooses between a list and a streaming list itself, and a server that has no CBOR is
// asked for JSON.
func TestFeatureGates(t *testing.T) {
	t.Parallel()
	config, kubeconfig := testcluster.Config(t), testcluster.Kubeconfig(t)
	configMaps := func(namespace string) func(name string) {
		return func(name string) {
			client := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(namespace)
			testkit.Must(client.Create(t.Context(), configMap(name, "new"), metav1.CreateOptions{}))(t)
		}
	}
	for _, gates := range []string{"WatchListClient=false", "ClientsAllowCBOR=true", "ClientsAllowCBOR=true ClientsPreferCBOR=true"} {
		for _, args := range []string{"", "--stream"} {
			t.Run(strings.TrimSpace(gates+" "+args), func(t *testing.T) {
				t.Parallel()
				namespace := testcluster.Namespace(t, config)
				create := configMaps(namespace)
				create("before")
				args := append(strings.Fields(args), "--kubeconfig", kubeconfig,
					"-n", namespace, "--resource", "configmaps", "-l", "test=yes")
				cmd := testkit.Program(t, args...)
				for _, gate := range strings.Fields(gates) {
					cmd.Env = append(cmd.Env, "KUBE_FEATURE_"+gate)
				}
				p := testkit.Start(t, cmd)
				p.Await(t, "^LISTED +"+namespace+"/before ")
				p.Await(t, "^SYNCED +1 object")
				create("after")
				p.Await(t, "^ADDED +"+namespace+"/after ")
				p.Signal(t, syscall.SIGTERM)
				if code := p.Exit(t); code != 0 || len(p.Out.Lines("RETRY", "EXPIRED", "UNREADABLE", "MISSED")) > 0 {
					t.Errorf("exit code %d, want 0 and no line of a failure", code)
				}
			})
		}
	}
}
