package main

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/fake"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testkit"
)

func retain(s *dbv1alpha1.DatabaseManagerSpec) { s.DeletionPolicy = dbv1alpha1.DeletionPolicyRetain }

// adopting is the spec of a DatabaseManager that adopts the children whose first owner has this UID.
func adopting(first types.UID) func(*dbv1alpha1.DatabaseManagerSpec) {
	return func(s *dbv1alpha1.DatabaseManagerSpec) {
		retain(s)
		s.AdoptFrom = string(first)
	}
}

func withStorage(s *dbv1alpha1.DatabaseManagerSpec) { s.StorageSize = new(resource.MustParse("1Gi")) }

// podOf returns the one pod of a DatabaseManager.
func (e *env) podOf(d *dbv1alpha1.DatabaseManager) types.UID {
	e.Helper()
	pods := testkit.Must(e.pods.List(e.Context(), metav1.ListOptions{LabelSelector: d.Status.Selector}))(e).Items
	pods = slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }) // a kubelet takes its time
	if len(pods) != 1 {
		e.Fatalf("%d pods, want 1", len(pods))
	}
	return pods[0].UID
}

// newEnvWithFirst returns an env with a controller, and with a DatabaseManager "first" that is ready and retains its children,
// and its pod.
func newEnvWithFirst(t *testing.T) (e *env, first *dbv1alpha1.DatabaseManager, pod types.UID) {
	e = newEnv(t)
	e.run(e.config)
	e.create("first", retain)
	first = e.untilReady("first", rollout.ReasonReplicasReady)
	return e, first, e.podOf(first)
}

// TestAdoption takes children through the lives of three owners. The second and the third adopt them, and the pod stays.
func TestAdoption(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	defer e.createVolume("db-data")()
	output, stop := e.run(e.config)
	e.create("first", retain, withStorage)
	first := e.untilReady("first", rollout.ReasonReplicasReady)
	children, pod := e.childrenOf("db"), e.podOf(first)
	secret, service, deployment := e.secret("db-root"), e.service("db"), e.deployment("db")
	if len(children) != 4 {
		t.Fatalf("children %v", children)
	}
	e.delete("first")
	untilGone(e, "the first", e.databases.Get, "first")
	e.garbageCollected(first)

	e.create("second", adopting(first.UID), withStorage)
	second := e.untilReady("second", rollout.ReasonReplicasReady)
	if !maps.Equal(e.childrenOf("db"), children) || e.podOf(second) != pod {
		t.Errorf("children %v, want %v; pod %s, want %s", e.childrenOf("db"), children, e.podOf(second), pod)
	}
	// They are as the first has left them, so not even a write was needed.
	if e.secret("db-root").ResourceVersion != secret.ResourceVersion || e.service("db").ResourceVersion != service.ResourceVersion ||
		e.deployment("db").Generation != deployment.Generation || len(output.Lines("UPDATED")) > 0 {
		t.Errorf("the adoption has written to the children:\n%s", output)
	}

	// The second is their owner in all respects: for changes, for pods that are not ready, and at the end.
	e.patch("second", `{"spec": {"replicas": 0}}`)
	e.untilReady("second", rollout.ReasonScaledToZero)
	e.patch("second", `{"spec": {"replicas": 1}}`)
	second = e.untilReady("second", rollout.ReasonReplicasReady)
	pod = e.podOf(second)
	e.delete("second")
	untilGone(e, "the second", e.databases.Get, "second")
	e.garbageCollected(second)

	// The label still has the first one's UID. Delete, which comes later, adds the owner reference.
	e.create("third", adopting(first.UID), withStorage)
	e.untilReady("third", rollout.ReasonReplicasReady)
	e.patch("third", `{"spec": {"deletionPolicy": "Delete"}}`)
	until(e, "no finalizer", get(e.databases.Get, "third"), func(d *dbv1alpha1.DatabaseManager) bool { return len(d.Finalizers) == 0 })
	third := e.untilReady("third", rollout.ReasonReplicasReady)
	if lines := output.Lines("ADOPTED"); len(lines) != 4 {
		t.Errorf("%d children adopted, want 4: %q", len(lines), lines)
	}
	for _, child := range []metav1.Object{e.deployment("db"), e.service("db"), e.secret("db-root")} {
		if !metav1.IsControlledBy(child, third) {
			t.Errorf("%T has owners %v", child, child.GetOwnerReferences())
		}
	}
	if !maps.Equal(e.childrenOf("db"), children) || e.podOf(third) != pod ||
		string(e.secret("db-root").Data["password"]) != string(secret.Data["password"]) {
		t.Error("the children, the pod or the password have changed")
	}
	// Up to here, each child was created once. Now nothing holds the third: a sync that has not heard of its deletion creates
	// again what the garbage collector has deleted. It deletes that, too, and with the controller ended there is no more.
	if n := len(output.Lines("CREATED")); n != 4 {
		t.Errorf("%d children created, want 4:\n%s", n, output)
	}
	e.delete("third")
	untilGone(e, "the Deployment", e.deployments.Get, "db")
	stop()
	testkit.Await(t, "the end of the children", func() bool { return len(e.everything()) == 0 })
}

// TestAdoptionAfterOrphan adopts children of an owner without Retain, deleted with --cascade=orphan.
func TestAdoptionAfterOrphan(t *testing.T) {
	testkit.All(t, "adopts again")
	t.Parallel()
	e := newEnv(t)
	e.run(e.config)
	e.create("first")
	first := e.untilReady("first", rollout.ReasonReplicasReady)
	children, pod := e.childrenOf("db"), e.podOf(first)
	e.garbageCollectorKnows()
	orphan := metav1.DeletePropagationOrphan
	if err := e.databases.Delete(t.Context(), "first", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	untilGone(e, "the first", e.databases.Get, "first")
	e.create("second", adopting(first.UID))
	second := e.untilReady("second", rollout.ReasonReplicasReady)
	if !maps.Equal(e.childrenOf("db"), children) || e.podOf(second) != pod {
		t.Errorf("children %v, want %v; pod %s, want %s", e.childrenOf("db"), children, e.podOf(second), pod)
	}
}

// TestAdoptionOfTheSecretAndTheClaim adopts what is left of a database whose Deployment was deleted.
func TestAdoptionOfTheSecretAndTheClaim(t *testing.T) {
	testkit.All(t, "adopts again")
	t.Parallel()
	e := newEnv(t)
	defer e.createVolume("db-data")()
	e.run(e.config)
	e.create("first", retain, withStorage)
	first := e.untilReady("first", rollout.ReasonReplicasReady)
	before := e.childrenOf("db")
	e.delete("first")
	untilGone(e, "the first", e.databases.Get, "first")
	if err := e.deployments.Delete(t.Context(), "db", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	untilGone(e, "the Deployment", e.deployments.Get, "db")
	e.create("second", adopting(first.UID), withStorage)
	e.untilReady("second", rollout.ReasonReplicasReady)
	after := e.childrenOf("db")
	if after["Secret"] != before["Secret"] || after["PersistentVolumeClaim"] != before["PersistentVolumeClaim"] {
		t.Errorf("children %v, before %v", after, before)
	}
}

// TestAdoptionThatIsRefused has DatabaseManagers that ask for children which they must not get. Nothing changes.
func TestAdoptionThatIsRefused(t *testing.T) {
	t.Parallel()
	const other = types.UID("00000000-0000-0000-0000-000000000000")
	conflict := "another DatabaseManager already has the children of "
	for name, test := range map[string]struct {
		deleted bool // the first, before the second is created
		uid     types.UID
		change  func(*dbv1alpha1.DatabaseManagerSpec)
		reason  string
		message string
		refused bool // before anything is written
	}{
		"the first still exists": {reason: database.ReasonNameConflict, message: conflict, refused: true},
		"another dbtype": {
			deleted: true, change: func(s *dbv1alpha1.DatabaseManagerSpec) { s.Dbtype = dbv1alpha1.MariaDB },
			reason: database.ReasonCannotAdopt, message: "db-root has the label app.kubernetes.io/name=mysql, so dbtype cannot be mariadb", refused: true,
		},
		"another UID": {
			deleted: true, uid: other, reason: database.ReasonNameConflict, message: ", or with adoptFrom: ", refused: true,
		},
		"another deploymentName": {
			deleted: true, change: func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = "other" },
			reason: database.ReasonCannotAdopt, message: "no Secret other-root was kept", refused: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "another dbtype" {
				testkit.All(t, "tries each refusal")
			}
			t.Parallel()
			e := newEnv(t)
			output, _ := e.run(e.config)
			e.create("first", retain)
			first := e.untilReady("first", rollout.ReasonReplicasReady)
			secret, service, deployment := e.secret("db-root"), e.service("db"), e.deployment("db")
			if test.deleted {
				e.delete("first")
				untilGone(e, "the first", e.databases.Get, "first")
			}
			if test.uid == "" {
				test.uid = first.UID
			}
			if test.change == nil {
				test.change = func(*dbv1alpha1.DatabaseManagerSpec) {}
			}
			// Another version: a controller that acted for both would change it back and forth.
			e.create("second", adopting(test.uid), test.change, func(s *dbv1alpha1.DatabaseManagerSpec) { s.Version = "8.4.5" })
			untilReported := e.readyMessage
			if test.refused {
				untilReported = e.untilUnprocessed
			}
			if message := untilReported("second", test.reason); !strings.Contains(message, test.message) {
				t.Errorf("message %q, want %q in it", message, test.message)
			}
			second := testkit.Must(e.databases.Get(t.Context(), "second", metav1.GetOptions{}))(t)
			if second.Status.AvailableReplicas != 0 || test.refused && len(second.Finalizers) > 0 {
				t.Errorf("finalizers %v, status %+v", second.Finalizers, second.Status)
			}
			e.delete("second")
			untilGone(e, "the second", e.databases.Get, "second")
			if len(output.Lines("CREATED")) != 3 || len(output.Lines("UPDATED")) > 0 ||
				e.deployment("db").Generation != deployment.Generation ||
				e.secret("db-root").ResourceVersion != secret.ResourceVersion ||
				e.service("db").ResourceVersion != service.ResourceVersion {
				t.Errorf("a child was written:\n%s", output)
			}
			if !test.deleted {
				e.patch("first", `{"spec": {"replicas": 2}}`)
				e.untilReady("first", rollout.ReasonReplicasReady)
			}
		})
	}
}

// TestAdoptionIsForOne has two DatabaseManagers that adopt the same children. The older one gets them, and the other one when
// that is deleted.
func TestAdoptionIsForOne(t *testing.T) {
	t.Parallel()
	e, first, pod := newEnvWithFirst(t)
	e.delete("first")
	untilGone(e, "the first", e.databases.Get, "first")
	older := e.create("older", adopting(first.UID))
	e.untilReady("older", rollout.ReasonReplicasReady)
	// The server's times are in whole seconds.
	testkit.Await(t, "the next second", func() bool { return time.Since(older.CreationTimestamp.Time) > time.Second })
	e.create("younger", adopting(first.UID), func(s *dbv1alpha1.DatabaseManagerSpec) { s.Version = "8.4.5" })
	e.untilUnprocessed("younger", database.ReasonNameConflict)
	if e.podOf(first) != pod || e.deployment("db").Spec.Template.Spec.Containers[0].Image != "mysql:8.4.6" {
		t.Error("the younger one has changed the Deployment")
	}
	e.delete("older")
	e.untilReady("younger", rollout.ReasonReplicasReady)
	until(e, "its version", get(e.deployments.Get, "db"), func(d *appsv1.Deployment) bool {
		return d.Spec.Template.Spec.Containers[0].Image == "mysql:8.4.5"
	})
}

// TestAdoptionWaitsForTheFirst creates the second owner while the first one still exists.
func TestAdoptionWaitsForTheFirst(t *testing.T) {
	testkit.All(t, "adopts again")
	t.Parallel()
	e, first, pod := newEnvWithFirst(t)
	e.create("second", adopting(first.UID))
	e.untilUnprocessed("second", database.ReasonNameConflict)
	e.delete("first")
	second := e.untilReady("second", rollout.ReasonReplicasReady)
	if e.podOf(second) != pod {
		t.Error("another pod")
	}
}

// TestDeletedInTheMiddleOfAnAdoption has a DatabaseManager that was deleted when it had adopted one child, and not the others: it was
// killed then. With Retain, none of them goes with it. With Delete, only the one that it has adopted does.
func TestDeletedInTheMiddleOfAnAdoption(t *testing.T) {
	t.Parallel()
	for _, policy := range []dbv1alpha1.DeletionPolicy{dbv1alpha1.DeletionPolicyRetain, dbv1alpha1.DeletionPolicyDelete} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			_, stop := e.run(e.config)
			e.create("first", retain)
			first := e.untilReady("first", rollout.ReasonReplicasReady)
			e.delete("first")
			untilGone(e, "the first", e.databases.Get, "first")
			e.garbageCollected(first)
			stop()
			want := e.childrenOf("db")

			e.create("second", adopting(first.UID))
			second := e.patch("second", `{"metadata": {"finalizers": ["`+database.Finalizer+`"]}, "spec": {"deletionPolicy": "Delete"}}`)
			owners := testkit.Must(json.Marshal(database.OwnerReferences(second)))(t)
			testkit.Must(e.secrets.Patch(t.Context(), "db-root", types.MergePatchType,
				[]byte(`{"metadata": {"ownerReferences": `+string(owners)+`}}`), metav1.PatchOptions{}))(t)
			e.patch("second", `{"spec": {"deletionPolicy": "`+string(policy)+`"}}`)
			e.delete("second")
			e.run(e.config)
			untilGone(e, "the second", e.databases.Get, "second")
			e.garbageCollected(second)
			if policy == dbv1alpha1.DeletionPolicyDelete {
				delete(want, "Secret")
			}
			testkit.Await(t, "the end of what it has adopted", func() bool { return len(e.childrenOf("db")) <= len(want) })
			if got := e.childrenOf("db"); !maps.Equal(got, want) {
				t.Errorf("children %v, want %v", got, want)
			}
		})
	}
}

// TestOfTwoInOneSecondNeitherAdopts compares ages, which the server gives in whole seconds.
func TestOfTwoInOneSecondNeitherAdopts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, stop := startController(t, kubefake.NewClientset(), fake.NewClientset(), "", 1, io.Discard)
		defer stop()
		synctest.Wait()
		add := func(uid, namespace, deployment, first string, age int64) *dbv1alpha1.DatabaseManager {
			d := &dbv1alpha1.DatabaseManager{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: namespace, Name: uid, UID: types.UID(uid), CreationTimestamp: metav1.Unix(1000-age, 0),
				},
				Spec: dbv1alpha1.DatabaseManagerSpec{DeploymentName: deployment, AdoptFrom: first},
			}
			if err := c.databaseIndexer.Add(d); err != nil {
				t.Fatal(err)
			}
			return d
		}
		for _, test := range []struct {
			d    *dbv1alpha1.DatabaseManager
			want bool
		}{
			{add("first", "x", "db", "", 9), false},     // the others are younger
			{add("beside it", "x", "db", "", 9), false}, // it has children of its own
			{add("adopts", "x", "db", "gone", 5), false},
			{add("younger", "x", "db", "gone", 4), true},
			{add("one", "x", "db", "lost", 3), true},
			{add("two", "x", "db", "lost", 3), true},
			{add("elsewhere", "y", "db", "gone", 2), false},
			{add("of another", "x", "db2", "gone", 2), false},
			{add("too early", "x", "db", "first", 1), true},
		} {
			siblings := testkit.Must(c.Siblings(t.Context(), test.d))(t)
			if got := database.MustWait(test.d, siblings); got != test.want {
				t.Errorf("%s: %v, want %v", test.d.Name, got, test.want)
			}
		}
	})
}
