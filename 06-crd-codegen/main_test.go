package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// runProgram runs the chapter's program, and returns its exit code and the last line of stderr.
func runProgram(t *testing.T, args ...string) (int, string) {
	t.Helper()
	_, stderr, code := testkit.Run(t, testkit.Program(t, args...))
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	return code, lines[len(lines)-1]
}

func TestWrongFlagsEndWithOneLine(t *testing.T) {
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no workers":                  {[]string{"--workers=0"}, "1 or more"},
		"workers as text":             {[]string{"--workers=two"}, "1 or more"},
		"port in use":                 {[]string{"--listen=" + listener.Addr().String()}, "address already in use"},
		"an argument":                 {[]string{"example-mysql"}, `unknown argument "example-mysql"`},
		"a lease of no whole seconds": {[]string{"--leader-elect", "--lease-duration=1900ms"}, "whole seconds, from 1s to 1h"},
		"a lease that is too short":   {[]string{"--lease-duration=0s"}, "whole seconds, from 1s to 1h"},
		"a shard of too few":          {[]string{"--shard=5/4"}, "I/N, such as 2/4"},
		"a shard without its cuts":    {[]string{"--shard=1/3:0x5f00000000000000"}, "for 3 shards, it takes 2 cuts"},
		"a bad duration":              {[]string{"--resync=1"}, "missing unit"},
	} {
		t.Run(name, func(t *testing.T) {
			code, line := runProgram(t, test.args...)
			if code != 2 || !strings.Contains(line, test.want) {
				t.Errorf("exit code %d, %q, want 2 and %q", code, line, test.want)
			}
		})
	}
}

// TestPasswordIsNotLogged runs the program with the most that client-go can log.
func TestPasswordIsNotLogged(t *testing.T) {
	t.Parallel()
	for _, watchList := range []string{"true", "false"} { // without streaming lists, one answer contains all Secrets
		t.Run("WatchListClient="+watchList, func(t *testing.T) {
			if watchList == "true" {
				testkit.All(t, "reads the log once more")
			}
			t.Parallel()
			e := newEnv(t)
			e.create("first")
			cmd := testkit.Program(t, "--kubeconfig="+e.kubeconfig(), "--namespace="+e.namespace, "-v=10", "--leader-elect")
			cmd.Env = append(cmd.Env, "KUBE_FEATURE_WatchListClient="+watchList)
			p := testkit.Start(t, cmd)
			e.untilReady("first", rollout.ReasonReplicasReady)
			e.patch("first", `{"spec": {"deletionPolicy": "Retain"}}`)
			until(e, "the Secret is written again", get(e.secrets.Get, "db-root"), func(s *corev1.Secret) bool {
				return len(s.OwnerReferences) == 0
			})
			e.delete("first")
			untilGone(e, "the DatabaseManager", e.databases.Get, "first")
			p.Signal(t, syscall.SIGTERM)
			p.Exit(t)
			password := e.secret("db-root").Data["password"]
			log := p.Out.String() + p.Err.String()
			for _, secret := range []string{string(password), base64.StdEncoding.EncodeToString(password)} {
				if n := strings.Count(log, secret); n > 0 {
					t.Errorf("the password is in the log %d times", n)
				}
			}
			if !strings.Contains(log, "/secrets/db-root") {
				t.Errorf("the requests are not in the log: %d bytes", len(log))
			}
		})
	}
}

// TestConvergesWithoutAFeatureOfClientGo switches features off as a user does. A store then gets its objects in another way,
// or does not know its resourceVersion.
func TestConvergesWithoutAFeatureOfClientGo(t *testing.T) {
	testkit.All(t, "switches features of client-go off")
	t.Parallel()
	for feature, line := range map[string]string{
		"WatchListClient": "Starting DatabaseManager controller",
		"AtomicFIFO":      "The feature gate AtomicFIFO is off",
	} {
		t.Run(feature, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			cmd := testkit.Program(t, "--kubeconfig="+e.kubeconfig(), "--namespace="+e.namespace, "--listen=127.0.0.1:0")
			cmd.Env = append(cmd.Env, "KUBE_FEATURE_"+feature+"=false")
			p := testkit.Start(t, cmd)
			url := strings.Fields(p.Await(t, "^LISTENING .*"))[1]
			const databases = 5
			for i := range databases {
				e.create(fmt.Sprintf("db-%d", i), func(s *dbv1alpha1.DatabaseManagerSpec) {
					s.DeploymentName, s.Replicas = fmt.Sprintf("db-%d", i), new(int32(0))
				})
			}
			for _, patch := range []string{`{"spec": {"replicas": 1, "version": "8.4.5"}}`, `{"spec": {"replicas": 0}}`} {
				for i := range databases {
					e.patch(fmt.Sprintf("db-%d", i), patch)
				}
			}
			for i := range databases {
				e.untilReady(fmt.Sprintf("db-%d", i), rollout.ReasonScaledToZero)
			}
			writes := func() int { return len(p.Out.Lines("CREATED", "UPDATED", "STATUS")) }
			syncs := func() int {
				return testkit.Metric(t, url, `workqueue_work_duration_seconds_count{name="`+queueName+`"}`)
			}
			// A database is ready before its controller has seen the last of Kubernetes' own writes.
			var before int
			testkit.Await(t, "a sync of each without a write", func() bool {
				before = writes()
				after := syncs() + databases
				for i := range databases {
					e.patch(fmt.Sprintf("db-%d", i), fmt.Sprintf(`{"metadata": {"annotations": {"after": "%d"}}}`, after))
				}
				testkit.Await(t, "the syncs", func() bool { return syncs() >= after })
				return writes() == before
			})
			// Three children, up to three changes of the Deployment, and some statuses for each.
			t.Logf("%d writes for %d DatabaseManagers", before, databases)
			if before > 20*databases {
				t.Errorf("%d writes for %d DatabaseManagers", before, databases)
			}
			if !strings.Contains(p.Err.String(), line) {
				t.Errorf("the log does not contain %q:\n%s", line, &p.Err)
			}
			p.Signal(t, syscall.SIGTERM)
			if code := p.Exit(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func TestUnknownNamespaceEndsWithOneLine(t *testing.T) {
	code, line := runProgram(t, "--kubeconfig="+testcluster.Kubeconfig(t), "--namespace=no-such")
	if code != 2 || !strings.Contains(line, `there is no namespace "no-such"`) {
		t.Errorf("exit code %d, %q", code, line)
	}
}

// TestOnAClusterOfItsOwn has what concerns all objects of a cluster: the CRD, and etcd's data.
func TestOnAClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Start(t)
	t.Run("the CRD is missing, installed, deleted and installed again", func(t *testing.T) { crdComesAndGoes(t, cluster) })
	t.Run("shards share the namespaces", func(t *testing.T) { shardsShareTheNamespaces(t, cluster) })
	t.Run("a newer version and back", func(t *testing.T) { newerVersionAndBack(t, cluster) })
	t.Run("etcd is restored from a snapshot", func(t *testing.T) { etcdRestored(t, cluster) }) // the last: informers hang after that
}

// crdComesAndGoes: a CRD is only gone when its last object is, so this also waits until the running controller has removed its finalizer.
func crdComesAndGoes(t *testing.T, cluster *testcluster.Cluster) {
	code, line := runProgram(t, "--kubeconfig="+cluster.Kubeconfig())
	if code != 2 || !strings.Contains(line, "install the CRD with `scripts/kubectl apply -f 06-crd-codegen/crd`") {
		t.Errorf("without the CRD: exit code %d, %q", code, line)
	}
	config := cluster.Config()
	e := newEnvOn(t, config)
	_, stop := e.run(config)

	e.create("kept", func(spec *dbv1alpha1.DatabaseManagerSpec) { spec.DeletionPolicy = dbv1alpha1.DeletionPolicyRetain })
	e.untilReady("kept", rollout.ReasonReplicasReady)
	secret := e.secret("db-root").UID
	definitions := dynamic.NewForConfigOrDie(config).Resource(apiextensions)
	if err := definitions.Delete(t.Context(), "databasemanagers.coolops.cn", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(e, "the CRD is gone", func(ctx context.Context) (error, error) {
		_, err := definitions.Get(ctx, "databasemanagers.coolops.cn", metav1.GetOptions{})
		return err, nil
	}, apierrors.IsNotFound)
	if now := e.secret("db-root"); now.UID != secret || now.DeletionTimestamp != nil {
		t.Errorf("the retained Secret is another or on its way out: %+v", now.ObjectMeta)
	}

	testcluster.InstallDatabaseManagers(t, config)
	e.create("again", func(spec *dbv1alpha1.DatabaseManagerSpec) { spec.DeploymentName = "again" })
	e.untilReady("again", rollout.ReasonReplicasReady)
	stop()
}

var apiextensions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
