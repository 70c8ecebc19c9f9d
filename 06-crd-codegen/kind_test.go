package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbv1alpha1ac "example.com/client-go-workbook/06-crd-codegen/pkg/generated/applyconfiguration/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// The tests here run MariaDB, so they need a kind cluster. Their objects are the ones in deploy/mariadb.yaml.

// manifest decodes the objects of one kind in deploy/mariadb.yaml.
func manifest[O any](t testing.TB, kind string) (objects []*O) {
	t.Helper()
	text := string(testkit.Must(os.ReadFile("deploy/mariadb.yaml"))(t))
	for document := range strings.SplitSeq(text, "\n---\n") {
		if strings.Contains(document, "kind: "+kind+"\n") {
			object := new(O)
			if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, object)
		}
	}
	if len(objects) == 0 {
		t.Fatalf("deploy/mariadb.yaml has no %s", kind)
	}
	return objects
}

// fromManifest returns a DatabaseManager of deploy/mariadb.yaml.
func fromManifest(t testing.TB, name string) *dbv1alpha1.DatabaseManager {
	t.Helper()
	all := manifest[dbv1alpha1.DatabaseManager](t, "DatabaseManager")
	i := slices.IndexFunc(all, func(d *dbv1alpha1.DatabaseManager) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("deploy/mariadb.yaml has no %s", name)
	}
	return all[i]
}

// createReady creates a DatabaseManager, and waits until its database is ready.
func (e *env) createReady(d *dbv1alpha1.DatabaseManager) *dbv1alpha1.DatabaseManager {
	e.Helper()
	testkit.Must(e.databases.Create(e.Context(), d, metav1.CreateOptions{}))(e)
	return e.untilReady(d.Name, rollout.ReasonReplicasReady)
}

// startClient creates the client's pod, with the container for one database.
func (e *env) startClient(database string) {
	e.Helper()
	pod := manifest[corev1.Pod](e, "Pod")[0]
	pod.Spec.Containers = slices.DeleteFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name != database })
	testkit.Must(e.pods.Create(e.Context(), pod, metav1.CreateOptions{}))(e)
	until(e, "the client runs", get(e.pods.Get, pod.Name), func(pod *corev1.Pod) bool { return isReady(pod) })
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// query sends statements to a database, as root, through its Service, and returns the rows of the answer. It tries until the
// server answers: the name of a Service stands for the pods that are ready, a moment later than they are.
func (e *env) query(database, statements string) (rows string) {
	e.Helper()
	var problem string
	testkit.Await(e, "an answer from "+database, func() bool {
		command := exec.CommandContext(e.Context(), "../scripts/kubectl", "exec", "-n", e.namespace, "client", "-c", database, "--",
			"mariadb", "--user=root", "--host="+database, "--connect-timeout=5", "--skip-column-names", "--execute="+statements)
		output, err := command.CombinedOutput()
		rows, problem = strings.TrimSpace(string(output)), string(output)
		return err == nil
	}, &problem)
	return rows
}

const (
	write = "CREATE DATABASE shop; CREATE TABLE shop.words (word TEXT); INSERT INTO shop.words VALUES ('kept')"
	read  = "SELECT word FROM shop.words"
	// exists prints nothing if there is no such database. read would fail, as it does if nobody answers.
	exists = "SHOW DATABASES LIKE 'shop'"
)

// serverPod waits until a database has one pod, which is ready and not the one with that UID, and returns it.
func (e *env) serverPod(d *dbv1alpha1.DatabaseManager, not types.UID) *corev1.Pod {
	e.Helper()
	return &until(e, "a pod of "+d.Name, func(ctx context.Context) (*corev1.PodList, error) {
		return e.pods.List(ctx, metav1.ListOptions{LabelSelector: d.Status.Selector})
	}, func(pods *corev1.PodList) bool {
		return len(pods.Items) == 1 && isReady(&pods.Items[0]) && pods.Items[0].UID != not
	}).Items[0]
}

// patchDeployment changes a Deployment as another user does.
func (e *env) patchDeployment(name, patch string) {
	e.Helper()
	options := metav1.PatchOptions{FieldManager: "others"}
	testkit.Must(e.deployments.Patch(e.Context(), name, types.StrategicMergePatchType, []byte(patch), options))(e)
}

// TestKindDatabaseKeepsItsPassword writes a row to a database. Then others change its Deployment, its pod is deleted, and the
// controller is started again. The Secret stays as it is, and the row too if it is on a volume.
func TestKindDatabaseKeepsItsPassword(t *testing.T) {
	testcluster.RequireKind(t)
	for name, keeps := range map[string]bool{"orders": true, "sessions": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			_, stop := e.run(e.config)
			d := e.createReady(fromManifest(t, name))
			e.startClient(name)
			e.query(name, write)
			if got := e.query(name, read); got != "kept" {
				t.Fatalf("read %q", got)
			}
			secret := e.secret(name + database.SecretSuffix)

			memory := func() string {
				return e.deployment(name).Spec.Template.Spec.Containers[0].Resources.Limits.Memory().String()
			}
			before := memory()
			e.patchDeployment(name, `{"spec": {"template": {"spec": {"containers": [{"name": "mariadb", "resources": {"limits": {"memory": "2Gi"}}}]}}}}`)
			testkit.Await(t, "the resources as they were", func() bool { return memory() == before })
			e.untilReady(name, rollout.ReasonReplicasReady)

			pod := e.serverPod(d, "")
			if err := e.pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			e.serverPod(d, pod.UID)

			stop()
			e.run(e.config)
			if err := e.services.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			until(e, "the Service is there again", get(e.services.Get, name), func(*corev1.Service) bool { return true })
			e.untilReady(name, rollout.ReasonReplicasReady)

			if after := e.secret(name + database.SecretSuffix); after.UID != secret.UID || after.ResourceVersion != secret.ResourceVersion {
				t.Error("the Secret has changed")
			}
			if got := e.query(name, exists) != ""; got != keeps {
				t.Errorf("the data are there: %v, want %v", got, keeps)
			}
			if keeps && e.query(name, read) != "kept" {
				t.Error("the row is lost")
			}
		})
	}
}

// TestKindRetainedDatabaseIsAdopted deletes a DatabaseManager with Retain. The server answers on, and is adopted by another one
// while it runs. The data are in an emptyDir: a new pod would not have them.
func TestKindRetainedDatabaseIsAdopted(t *testing.T) {
	testcluster.RequireKind(t)
	t.Parallel()
	const name = "sessions"
	e := newEnv(t)
	e.run(e.config)
	d := fromManifest(t, name)
	retain(&d.Spec)
	d = e.createReady(d)
	e.startClient(name)
	e.query(name, write)
	pod, secret := e.serverPod(d, ""), e.secret(name+database.SecretSuffix)
	same := func(when string) {
		t.Helper()
		now := e.serverPod(d, "")
		if now.UID != pod.UID || now.Status.ContainerStatuses[0].ContainerID != pod.Status.ContainerStatuses[0].ContainerID {
			t.Errorf("another pod or container %s", when)
		}
		if string(e.secret(name + database.SecretSuffix).Data["password"]) != string(secret.Data["password"]) {
			t.Errorf("another password %s", when)
		}
		if got := e.query(name, read); got != "kept" {
			t.Errorf("read %q %s", got, when)
		}
	}

	e.delete(name)
	untilGone(e, "the DatabaseManager", e.databases.Get, name)
	e.garbageCollected(d)
	same("after the deletion")

	next := fromManifest(t, name)
	next.Name = "next"
	adopting(d.UID)(&next.Spec)
	e.createReady(next)
	same("after the adoption")
	e.patch("next", `{"spec": {"deletionPolicy": "Delete"}}`)
	until(e, "no finalizer", get(e.databases.Get, "next"), func(d *dbv1alpha1.DatabaseManager) bool { return len(d.Finalizers) == 0 })
	same("with owner references")
}

// TestKindStatusNamesTheCause has databases that don't run, each for another cause. The condition names it, and does not
// change while the kubelet tries again. When the cause is gone, they run.
func TestKindStatusNamesTheCause(t *testing.T) {
	testcluster.RequireKind(t)
	container := func(fields string) string {
		return `{"spec": {"template": {"spec": {"containers": [{"name": "mariadb", ` + fields + `}]}}}}`
	}
	for name, test := range map[string]struct {
		version       string // of the DatabaseManager
		patch, repair string // of the Deployment, by another user
		restarts      int32  // the number to wait for
		reason        string
		message       string
	}{
		"no such version": {
			version: "0.0.1",
			reason:  "ImagePullBackOff", message: "0 of 1 replicas are ready: the image mariadb:0.0.1 cannot be pulled",
		},
		"crash loop": {
			patch: container(`"args": ["--no-such-option"]`), repair: container(`"args": null`), restarts: 2,
			reason: "CrashLoopBackOff", message: "0 of 1 replicas are ready: the container mariadb ends with exit code ",
		},
		"crash loop with exit code 0": {
			patch: container(`"command": ["true"]`), repair: container(`"command": null`), restarts: 2,
			reason: "CrashLoopBackOff", message: "0 of 1 replicas are ready: the container mariadb ends with exit code 0 (Completed)",
		},
		"no node": {
			patch:  `{"spec": {"template": {"spec": {"nodeSelector": {"example.com/no-such": "node"}}}}}`,
			repair: `{"spec": {"template": {"spec": {"nodeSelector": null}}}}`,
			reason: corev1.PodReasonUnschedulable,
			message: "0 of 1 replicas are ready: no node is available: " +
				"node(s) didn't match Pod's node affinity/selector",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			output, _ := e.run(e.config)
			d := fromManifest(t, "sessions")
			version := d.Spec.Version
			if test.version != "" {
				d.Spec.Version = test.version
				testkit.Must(e.databases.Create(t.Context(), d, metav1.CreateOptions{}))(e)
			} else {
				e.createReady(d)
				e.patchDeployment(d.Name, test.patch)
			}
			start := time.Now()
			if message := e.readyMessage(d.Name, test.reason); !strings.HasPrefix(message, test.message) {
				t.Errorf("message %q, want %q at its beginning", message, test.message)
			}
			t.Logf("after %s", time.Since(start).Round(time.Millisecond))
			selector := testkit.Must(e.databases.Get(t.Context(), d.Name, metav1.GetOptions{}))(e).Status.Selector
			until(e, "restarts", func(ctx context.Context) (*corev1.PodList, error) {
				return e.pods.List(ctx, metav1.ListOptions{LabelSelector: selector})
			}, func(pods *corev1.PodList) bool {
				return test.restarts == 0 || len(pods.Items) == 1 && len(pods.Items[0].Status.ContainerStatuses) == 1 &&
					pods.Items[0].Status.ContainerStatuses[0].RestartCount >= test.restarts
			})
			if n := strings.Count(output.String(), "Ready=False "+test.reason); n != 1 {
				t.Errorf("the status was written %d times, want once:\n%s", n, output)
			}
			if test.repair != "" {
				e.patchDeployment(d.Name, test.repair)
			} else {
				e.patch(d.Name, `{"spec": {"version": "`+version+`"}}`)
			}
			e.untilReady(d.Name, rollout.ReasonReplicasReady)
		})
	}
}

// BenchmarkKindReady measures, in turns, how long it takes from the apply of a DatabaseManager until it is Ready, and from
// the creation of the same Deployment until that is available. The Secret of the latter is there before. Five turns:
//
//	scripts/test.sh kind ./06-crd-codegen -run '^$' -bench KindReady -benchtime 5x
func BenchmarkKindReady(b *testing.B) {
	testcluster.RequireKind(b)
	e := newBench(b)
	namespace := testcluster.Namespace(b, e.config)
	startController(b, e.client, e.databases, namespace, benchWorkers, &testkit.Buffer{})
	secrets, deployments := e.client.CoreV1().Secrets(namespace), e.client.AppsV1().Deployments(namespace)
	databases := e.databases.CoolopsV1alpha1().DatabaseManagers(namespace)
	spec := fromManifest(b, "sessions").Spec

	until := func(met func(context.Context) (bool, error)) {
		b.Helper()
		if err := wait.PollUntilContextTimeout(b.Context(), 20*time.Millisecond, 5*time.Minute, true, met); err != nil {
			b.Fatal(err)
		}
	}
	noPods := func(ctx context.Context) (bool, error) {
		pods, err := e.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(pods.Items) == 0, err
	}
	plain := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "plain", UID: "plain"}, Spec: spec}
	secret := database.Secret(plain, nil)
	testkit.Must(secrets.Apply(b.Context(), secret, metav1.ApplyOptions{FieldManager: "bench"}))(b)
	foreground := metav1.DeletePropagationForeground
	var ours, bare []time.Duration
	for b.Loop() {
		name := "ours"
		applying := dbv1alpha1ac.DatabaseManager(name, namespace).WithSpec(dbv1alpha1ac.DatabaseManagerSpec().
			WithDbtype(spec.Dbtype).WithVersion(spec.Version).WithDeploymentName(name))
		start := time.Now()
		testkit.Must(databases.Apply(b.Context(), applying, metav1.ApplyOptions{FieldManager: "bench"}))(b)
		until(func(ctx context.Context) (bool, error) {
			d, err := databases.Get(ctx, name, metav1.GetOptions{})
			return err == nil && apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionReady), err
		})
		ours = append(ours, time.Since(start))
		if err := databases.Delete(b.Context(), name, metav1.DeleteOptions{}); err != nil {
			b.Fatal(err)
		}
		until(noPods)

		object := deploymentOf(database.Deployment(plain, nil), "plain")
		start = time.Now()
		testkit.Must(deployments.Create(b.Context(), object, metav1.CreateOptions{}))(b)
		var deployment *appsv1.Deployment
		until(func(ctx context.Context) (_ bool, err error) {
			deployment, err = deployments.Get(ctx, "plain", metav1.GetOptions{})
			return err == nil && deployment.Status.AvailableReplicas == 1, err
		})
		bare = append(bare, time.Since(start))
		if err := deployments.Delete(b.Context(), "plain", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
			b.Fatal(err)
		}
		until(noPods)
		b.Logf("DatabaseManager %s, Deployment %s", ours[len(ours)-1].Round(time.Millisecond), bare[len(bare)-1].Round(time.Millisecond))
	}
	median := func(times []time.Duration) float64 {
		times = slices.Sorted(slices.Values(times))
		return times[len(times)/2].Seconds()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(ours), "s-ours")
	b.ReportMetric(median(bare), "s-deployment")
	b.ReportMetric(median(ours)/median(bare), "ratio")
}
