// Package readmes runs the commands of all READMEs, and compares what they print with what the READMEs show; and those of the
// predictions, which must print what is to be predicted.
package readmes

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/exercise/manifest"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
	"example.com/client-go-workbook/internal/test/transcript"
)

// pages are the READMEs, in a reader's order, and the commands that take away what one leaves on the cluster, also if it has failed
// halfway.
var pages = []struct {
	folder string
	undo   []string
}{
	{"01-listwatch", []string{"scripts/kubectl delete pod web -n nginx --ignore-not-found", "scripts/apply-samples.sh 1"}},
	{"02-informer", []string{
		"scripts/kubectl delete deployment/nginx-deployment pod/web -n nginx --ignore-not-found",
		"scripts/kubectl delete clusterrole/visitor clusterrolebinding/visitor --ignore-not-found",
		"scripts/kubectl config delete-context visitor; scripts/kubectl config delete-user visitor",
	}},
	{"03-lister", []string{"scripts/kubectl scale deployment/crowd -n shop --replicas=0"}},
	{"04-workqueue", nil},
	{"05-controller", []string{
		"scripts/kubectl delete -f 05-controller/rbac.yaml --ignore-not-found",
		"scripts/kubectl delete deployment/billing-db -n databases --ignore-not-found",
		"scripts/kubectl delete configmap/orders -n databases --ignore-not-found; scripts/apply-samples.sh 5",
	}},
	{"06-crd-codegen", []string{
		`for name in $(scripts/kubectl get dbm -n default -o name); do
			scripts/kubectl patch "$name" -n default --type=merge -p '{"metadata":{"finalizers":null}}'
			scripts/kubectl delete "$name" -n default
		done`,
		"scripts/kubectl delete deployment/mysql service/mysql secret/mysql-root -n default --ignore-not-found",
	}},
	{"06-crd-codegen/controller-runtime", nil},
	{"06-crd-codegen/capstone", nil},
	{"docs/questions", []string{
		"scripts/kubectl delete crd/boxes.example.com validatingwebhookconfiguration/boxes.example.com configmap/big --ignore-not-found",
		`rm -rf /tmp/buckets /tmp/my
		for name in photos music; do
			scripts/kubectl patch configmap "$name" -n default --type=merge -p '{"metadata":{"finalizers":null}}'
			scripts/kubectl delete configmap "$name" -n default --ignore-not-found
		done`,
		`for name in ns-000 ns-001 ns-002 ns-003; do
			scripts/kubectl patch dbm/example-mysql -n "$name" --type=merge -p '{"metadata":{"finalizers":null}}'
			scripts/kubectl delete namespace "$name" --ignore-not-found
		done`,
	}},
}

// TestReadme runs one README after the other, and then the predictions, on one cluster, which is new: a local one of this test's own,
// or the tests' kind cluster.
func TestReadme(t *testing.T) {
	cluster := transcript.Start(t)
	for _, page := range pages {
		t.Run(page.folder, func(t *testing.T) { cluster.Test(t, page.folder, page.undo...) })
	}
	t.Run("predictions", func(t *testing.T) { predictions(t, cluster) })
}

// predictions runs the command of each prediction. It must end by itself and print what it is to show. Those of a chapter that have a
// namespace of their own run beside all others. What stops the API server, or compiles, runs when all others have ended.
func predictions(t *testing.T, cluster *transcript.Cluster) {
	var alone []manifest.Prediction
	beside := map[string][]manifest.Prediction{}
	for _, chapter := range testkit.Must(manifest.Load(testcluster.Root(t)))(t) {
		for _, p := range chapter.Predictions {
			switch {
			case strings.Contains(p.Run, "apiserver.sh"), strings.HasPrefix(p.Run, "go test"):
				alone = append(alone, p)
			case strings.Contains(p.Run, "delete namespace prediction-"):
				beside[chapter.Folder] = append(beside[chapter.Folder], p)
			default:
				beside["samples"] = append(beside["samples"], p)
			}
		}
	}
	t.Run("beside", func(t *testing.T) {
		for name, inOrder := range beside {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				predict(t, cluster, inOrder)
			})
		}
	})
	t.Run("alone", func(t *testing.T) { predict(t, cluster, alone) })
}

// predict runs one prediction after the other.
func predict(t *testing.T, cluster *transcript.Cluster, predictions []manifest.Prediction) {
	for _, p := range predictions {
		t.Run(p.ID, func(t *testing.T) {
			if os.Getenv("CLUSTER") == "kind" && p.NotOnKind != "" {
				t.Skip(p.NotOnKind)
			}
			command := exec.Command("bash", "-p", "-c", p.Run) // as make exercise does
			// A reader's program is not ended by the detector, which scripts/test.sh switches on: 3.B changes the cache.
			command.Dir = testcluster.Root(t)
			command.Env = slices.Concat(os.Environ(), cluster.Env, []string{"KUBE_CACHE_MUTATION_DETECTOR=false"})
			output, err := command.CombinedOutput()
			if err != nil || !strings.Contains(string(output), p.Prints) {
				t.Errorf("%v, and %q is not in what it prints:\n%s", err, p.Prints, output)
			}
		})
	}
}

// TestKindReadmeOfDeploy has a cluster of its own: what is deployed acts on all DatabaseManagers of a cluster.
func TestKindReadmeOfDeploy(t *testing.T) {
	testcluster.RequireKind(t)
	root := testcluster.Root(t)
	t.Setenv("CLUSTER_DIR", filepath.Join(t.TempDir(), "cluster"))
	t.Cleanup(func() { _ = exec.Command(filepath.Join(root, "scripts/cluster-down.sh")).Run() })
	up := exec.Command("bash", "-p", "-c", "scripts/cluster-up.sh && . scripts/lib.sh && load_pod_images")
	up.Dir = root
	if output, err := up.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	(&transcript.Cluster{Env: []string{"CLUSTER_DIR=" + os.Getenv("CLUSTER_DIR")}}).Test(t, "06-crd-codegen/deploy")
}
