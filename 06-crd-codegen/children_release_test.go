package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/controller/ssa"
	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/test/testkit"
)

// cascades are the ways to delete a DatabaseManager after which its children are to be there.
var cascades = map[string]struct {
	policy      dbv1alpha1.DeletionPolicy
	propagation metav1.DeletionPropagation
}{
	"Delete, orphan":     {dbv1alpha1.DeletionPolicyDelete, metav1.DeletePropagationOrphan},
	"Retain, orphan":     {dbv1alpha1.DeletionPolicyRetain, metav1.DeletePropagationOrphan},
	"Retain, foreground": {dbv1alpha1.DeletionPolicyRetain, metav1.DeletePropagationForeground},
	"Retain, background": {dbv1alpha1.DeletionPolicyRetain, metav1.DeletePropagationBackground},
}

// garbageCollected waits until the garbage collector has dealt with children of an owner that is gone: until one more,
// which the controller knows nothing of, is deleted.
func (e *env) garbageCollected(owner *dbv1alpha1.DatabaseManager) {
	e.Helper()
	testkit.Must(e.client.CoreV1().ConfigMaps(e.namespace).Create(e.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "child-of-" + owner.Name,
		OwnerReferences: ownerReference(owner),
	}}, metav1.CreateOptions{}))(e)
	untilGone(e, "a child without an owner", e.client.CoreV1().ConfigMaps(e.namespace).Get, "child-of-"+owner.Name)
}

// garbageCollectorKnows waits until the garbage collector has seen all owner references that are there. It has a watch for each
// resource, and one can be late: then `--cascade=orphan` does not reach a child, which is deleted with its owner
// (https://github.com/kubernetes/kubernetes/issues/26120). So behind the children comes one more of each kind, without an owner.
func (e *env) garbageCollectorKnows() {
	e.Helper()
	d := &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: e.namespace, UID: "none"},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "none", Replicas: new(int32(0))},
	}
	d.Spec.StorageSize = new(resource.MustParse("1Gi"))
	owners, options := ownerReference(d), metav1.ApplyOptions{FieldManager: "test"}
	testkit.Must(e.secrets.Apply(e.Context(), ssa.WithOwners(database.Secret(d, nil), owners), options))(e)
	testkit.Must(e.claims.Apply(e.Context(), ssa.WithOwners(database.Claim(d, nil), owners), options))(e)
	testkit.Must(e.deployments.Apply(e.Context(), ssa.WithOwners(database.Deployment(d, nil), owners), options))(e)
	testkit.Must(e.services.Apply(e.Context(), ssa.WithOwners(database.Service(d, nil), owners), options))(e)
	testkit.Await(e, "the garbage collector", func() bool { return len(e.childrenOf("none")) == 0 })
}

// TestChildrenThatMustStaySurviveEachCascade deletes a DatabaseManager so that its children must stay. The controller runs,
// and does not know of the deletion: the events of its watch of DatabaseManagers are held until the garbage collector is done.
func TestChildrenThatMustStaySurviveEachCascade(t *testing.T) {
	t.Parallel()
	for name, test := range cascades {
		t.Run(name, func(t *testing.T) {
			if name != "Delete, orphan" {
				testkit.All(t, "tries each cascade")
			}
			t.Parallel()
			e := newEnv(t)
			watch := netfault.NewGate("databasemanagers")
			c := e.startController(watch.Wrap(e.config))
			d := e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) {
				s.StorageSize, s.DeletionPolicy, s.Replicas = new(resource.MustParse("1Gi")), test.policy, new(int32(0))
			})
			e.untilReady("example", rollout.ReasonScaledToZero)
			// Otherwise a write of its own would be held as well, and it would wait for that.
			e.undisturbed(c, &requests{}, func() {})
			before := e.childrenOf("db")
			if len(before) != 4 {
				t.Fatalf("children %v", before)
			}

			e.garbageCollectorKnows()
			watch.Close()
			if err := e.databases.Delete(t.Context(), "example", metav1.DeleteOptions{PropagationPolicy: &test.propagation}); err != nil {
				t.Fatal(err)
			}
			if test.policy == dbv1alpha1.DeletionPolicyDelete {
				untilGone(e, "the DatabaseManager", e.databases.Get, "example")
			} else { // our finalizer holds it; the others' are gone when the garbage collector is done
				until(e, "the garbage collector is done", get(e.databases.Get, "example"), func(d *dbv1alpha1.DatabaseManager) bool {
					return d.DeletionTimestamp != nil && len(d.Finalizers) == 1
				})
			}
			c.resync(e) // and once more, if no event has woken it
			watch.Open()
			untilGone(e, "the DatabaseManager", e.databases.Get, "example")
			e.garbageCollected(d)
			for kind, uid := range before {
				if now := e.childrenOf("db")[kind]; now != uid {
					t.Errorf("%s: UID was %s, is %q", kind, uid, now)
				}
			}
		})
	}
}

// TestDeletionPolicyChangedJustBeforeADeletion changes the deletionPolicy while the controller is stopped after the first of its
// writes for it, and deletes the object then. The next controller carries the change through.
func TestDeletionPolicyChangedJustBeforeADeletion(t *testing.T) {
	t.Parallel()
	for from, to := range map[dbv1alpha1.DeletionPolicy]dbv1alpha1.DeletionPolicy{
		dbv1alpha1.DeletionPolicyDelete: dbv1alpha1.DeletionPolicyRetain,
		dbv1alpha1.DeletionPolicyRetain: dbv1alpha1.DeletionPolicyDelete,
	} {
		t.Run(fmt.Sprintf("%s to %s", from, to), func(t *testing.T) {
			if to != dbv1alpha1.DeletionPolicyRetain {
				testkit.All(t, "tries each policy")
			}
			t.Parallel()
			e := newEnv(t)
			// After the change one write gets through: the finalizer, or a Secret with an owner reference.
			var mu sync.Mutex
			left := -1
			spent := make(chan struct{})
			config := rest.CopyConfig(e.config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return testkit.RoundTripper(func(request *http.Request) (*http.Response, error) {
					mu.Lock()
					defer mu.Unlock()
					// A status can still be due for what was before the change.
					status := strings.HasSuffix(request.URL.Path, "/status") && left > 0
					if request.Method == http.MethodGet || left < 0 || status || strings.HasSuffix(request.URL.Path, "/events") {
						return next.RoundTrip(request)
					}
					if left == 0 {
						select {
						case <-spent:
						default:
							close(spent)
						}
						return nil, fmt.Errorf("the controller is killed")
					}
					left--
					return next.RoundTrip(request)
				})
			})
			_, stop := e.run(config)
			d := e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) {
				s.StorageSize, s.DeletionPolicy, s.Replicas = new(resource.MustParse("1Gi")), from, new(int32(0))
			})
			e.untilReady("example", rollout.ReasonScaledToZero)
			before := e.childrenOf("db")
			mu.Lock()
			left = 1
			mu.Unlock()
			e.patch("example", fmt.Sprintf(`{"spec": {"deletionPolicy": %q}}`, to))
			select {
			case <-spent:
			case <-time.After(time.Minute):
				t.Fatal("no second write")
			}
			stop()
			e.delete("example")
			e.run(e.config)
			untilGone(e, "the DatabaseManager", e.databases.Get, "example")
			e.garbageCollected(d)
			if to == dbv1alpha1.DeletionPolicyDelete {
				testkit.Await(t, "the end of the children", func() bool { return len(e.childrenOf("db")) == 0 })
				return
			}
			for kind, uid := range before {
				if now := e.childrenOf("db")[kind]; now != uid {
					t.Errorf("%s: UID was %s, is %q", kind, uid, now)
				}
			}
		})
	}
}

// BenchmarkCascade counts the children that are lost of 500 DatabaseManagers, deleted while the controller runs, 200 ms
// behind in what it knows of DatabaseManagers.
func BenchmarkCascade(b *testing.B) {
	const databases = 500
	for name, test := range cascades {
		b.Run(name, func(b *testing.B) {
			bench := newBench(b)
			watch := netfault.NewGate("databasemanagers")
			watch.Delay = 200 * time.Millisecond
			config := watch.Wrap(bench.config)
			for range b.N {
				made := bench.create(1, databases, func(s *dbv1alpha1.DatabaseManagerSpec) {
					s.DeletionPolicy, s.StorageSize = test.policy, new(resource.MustParse("1Gi"))
				})
				namespace := made[0].Namespace
				output := &counter{words: map[string]int{}}
				client, coolops := kubernetes.NewForConfigOrDie(config), versioned.NewForConfigOrDie(config)
				_, stop := startController(b, client, coolops, namespace, benchWorkers, output)
				until := func(what string, met func(ctx context.Context) (bool, error)) {
					if err := wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, 10*time.Minute, true, met); err != nil {
						b.Fatalf("%s: %v", what, err)
					}
				}
				until("all children", func(context.Context) (bool, error) { return output.count("CREATED") >= 4*databases, nil })
				before := bench.childUIDs(namespace)
				owners := bench.databases.CoolopsV1alpha1().DatabaseManagers(namespace)
				bench.each(len(made), func(i int) error {
					return owners.Delete(b.Context(), made[i].Name, metav1.DeleteOptions{PropagationPolicy: &test.propagation})
				})
				until("all DatabaseManagers gone", func(ctx context.Context) (bool, error) {
					left, err := owners.List(ctx, metav1.ListOptions{})
					return err == nil && len(left.Items) == 0, err
				})
				stop()
				// The garbage collector works in order of what it learns: when this one is deleted, the others would be.
				sentinel := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "sentinel", OwnerReferences: ownerReference(made[0])}}
				if _, err := bench.client.CoreV1().ConfigMaps(namespace).Create(b.Context(), sentinel, metav1.CreateOptions{}); err != nil {
					b.Fatal(err)
				}
				until("the garbage collector", func(ctx context.Context) (bool, error) {
					options := metav1.ListOptions{FieldSelector: "metadata.name=sentinel"}
					configMaps, err := bench.client.CoreV1().ConfigMaps(namespace).List(ctx, options)
					return err == nil && len(configMaps.Items) == 0, err
				})
				after := bench.childUIDs(namespace)
				lost := 0
				for uid := range before {
					if !after[uid] {
						lost++
					}
				}
				b.ReportMetric(float64(len(before)), "children")
				b.ReportMetric(float64(lost), "lost")
				if lost > 0 {
					b.Errorf("%d of %d children are lost", lost, len(before))
				}
			}
		})
	}
}

// childUIDs returns the UIDs of all children in a namespace, without those that are being deleted.
func (b *bench) childUIDs(namespace string) map[types.UID]bool {
	b.Helper()
	uids := map[types.UID]bool{}
	list := metav1.ListOptions{LabelSelector: database.ManagedByLabel + "=" + database.FieldManager}
	add := func(child metav1.Object) {
		if child.GetDeletionTimestamp() == nil {
			uids[child.GetUID()] = true
		}
	}
	deployments, err := b.client.AppsV1().Deployments(namespace).List(b.Context(), list)
	if err != nil {
		b.Fatal(err)
	}
	for i := range deployments.Items {
		add(&deployments.Items[i])
	}
	services, err := b.client.CoreV1().Services(namespace).List(b.Context(), list)
	if err != nil {
		b.Fatal(err)
	}
	for i := range services.Items {
		add(&services.Items[i])
	}
	secrets, err := b.client.CoreV1().Secrets(namespace).List(b.Context(), list)
	if err != nil {
		b.Fatal(err)
	}
	for i := range secrets.Items {
		add(&secrets.Items[i])
	}
	claims, err := b.client.CoreV1().PersistentVolumeClaims(namespace).List(b.Context(), list)
	if err != nil {
		b.Fatal(err)
	}
	for i := range claims.Items {
		add(&claims.Items[i])
	}
	return uids
}
