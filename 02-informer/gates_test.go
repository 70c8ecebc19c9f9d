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

// TestFeatureGates switches each of client-go's gates for informers. The stores follow the server as before, and no watch
// is opened twice.
func TestFeatureGates(t *testing.T) {
	t.Parallel()
	config, kubeconfig := testcluster.Config(t), testcluster.Kubeconfig(t)
	clientset := kubernetes.NewForConfigOrDie(config)
	for gate, requests := range map[string]string{
		"WatchListClient=false":              "[234]", // a list for each resource, and maybe already a watch
		"AtomicFIFO=false":                   "2",
		"InOrderInformersBatchProcess=false": "2",
		"UnlockWhileProcessingFIFO=false":    "2",
		"InformerResourceVersion=false":      "2",
		"InOrderInformers=false":             "2", // is locked: client-go logs that, and ignores it
		"ClientsAllowCBOR=true":              "2",
	} {
		t.Run(gate, func(t *testing.T) {
			t.Parallel()
			namespace := testcluster.Namespace(t, config)
			pods := clientset.CoreV1().Pods(namespace)
			create(t, pods, newPod("a"))
			testkit.Await(t, "the server's cache, from which lists of version 0 come, to have the pod", func() bool {
				list := testkit.Must(pods.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"}))(t)
				return len(list.Items) == 1
			})
			cmd := testkit.Program(t, "--kubeconfig", kubeconfig, "-n", namespace, "--wire")
			cmd.Env = append(cmd.Env, "KUBE_FEATURE_"+gate)
			p := testkit.Start(t, cmd)
			p.Await(t, "^ADD +Pod "+namespace+"/a \\(first list\\)$")
			p.Await(t, "^SYNCED +stores, with "+requests+" request\\(s\\) for 2 handlers$")
			listed := strings.Contains(p.Out.String(), "/pods?limit=500&resourceVersion=0")
			if want := gate == "WatchListClient=false"; listed != want {
				t.Errorf("sent a list for the pods: %t, want %t", listed, want)
			}
			create(t, pods, newPod("b"))
			p.Await(t, "^ADD +Pod "+namespace+"/b$")
			remove(t, clientset, namespace, "a")
			p.Await(t, "^DELETE +Pod "+namespace+"/a$")
			p.Signal(t, syscall.SIGTERM)
			if code := p.Exit(t); code != 0 || len(p.Out.Lines("RETRY")) > 0 {
				t.Errorf("exit code %d, want 0 and no RETRY", code)
			}
			if locked := gate == "InOrderInformers=false"; strings.Contains(p.Err.String(), "feature is locked") != locked {
				t.Errorf("logged that the gate is locked: %t, want %t", !locked, locked)
			}
		})
	}
}
