package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/test/testkit"
	"k8s.io/client-go/kubernetes"
)

// TestRandomChangesConverge creates, changes and deletes 200 objects at random, while others change their children. When all
// of them stop, the actual state must become the desired state, with nothing left over and no key that fails.
func TestRandomChangesConverge(t *testing.T) {
	t.Parallel()
	testkit.All(t, "takes a minute")
	const names, operations = 200, 600 // TestSoak has 2,000 names
	e := newEnv(t)
	c, _ := startController(t, kubernetes.NewForConfigOrDie(e.config), versioned.NewForConfigOrDie(e.config), e.namespace, 10, io.Discard)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)

	var writers, others sync.WaitGroup
	allowed := func(what string, err error) {
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	patch := func(what, name, format string, value int) {
		_, err := e.databases.Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, format, value), metav1.PatchOptions{})
		allowed(what, err)
	}
	for writer := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, writer))
		writers.Go(func() {
			for i := range operations / 8 {
				n := int(writer) + 8*random.IntN(names/8)
				if i < names/8 {
					n = int(writer) + 8*i // each once
				}
				name := fmt.Sprintf("db-%d", n)
				switch op := random.IntN(10); {
				case i < names/8 || op < 2:
					d := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: dbv1alpha1.DatabaseManagerSpec{
						Dbtype: dbv1alpha1.MySQL, DeploymentName: name, Replicas: new(int32(0)),
					}}
					if random.IntN(4) == 0 {
						d.Spec.Dbtype = dbv1alpha1.MariaDB
					}
					_, err := e.databases.Create(t.Context(), d, metav1.CreateOptions{})
					allowed("create", err)
				case op < 5:
					patch("version", name, `{"spec": {"version": "8.4.%d"}}`, random.IntN(6))
				case op < 7:
					patch("replicas", name, `{"spec": {"replicas": %d}}`, max(0, random.IntN(12)-10))
				default:
					allowed("delete", e.databases.Delete(t.Context(), name, metav1.DeleteOptions{}))
				}
			}
		})
	}
	for other := range uint64(2) {
		random := rand.New(rand.NewPCG(seed, 100+other))
		others.Go(func() {
			options := metav1.PatchOptions{FieldManager: "others"}
			for range operations / 4 {
				name := fmt.Sprintf("db-%d", random.IntN(names))
				var err error
				switch random.IntN(6) {
				case 0:
					_, err = e.deployments.Patch(t.Context(), name, types.MergePatchType, []byte(
						`{"spec": {"replicas": 0, "paused": true}, "metadata": {"annotations": {"a": "b"}}}`), options)
				case 1:
					_, err = e.deployments.Patch(t.Context(), name, types.StrategicMergePatchType, []byte(
						`{"spec": {"template": {"spec": {"containers": [{"name": "mysql", "image": "mysql:0.0.1"}]}}}}`), options)
				case 2:
					_, err = e.services.Patch(t.Context(), name, types.MergePatchType, []byte(`{
						"spec": {"selector": {"`+database.FirstOwnerLabel+`": "others"}},
						"metadata": {"labels": {"`+database.ManagedByLabel+`": null}}}`), options)
				case 3:
					_, err = e.secrets.Patch(t.Context(), name+database.SecretSuffix, types.MergePatchType, []byte(
						`{"metadata": {"labels": {"`+database.FirstOwnerLabel+`": "others"}}}`), options)
				case 4:
					err = e.services.Delete(t.Context(), name, metav1.DeleteOptions{})
				case 5:
					err = e.deployments.Delete(t.Context(), name, metav1.DeleteOptions{})
				}
				if apierrors.IsInvalid(err) {
					err = nil // a container mysql without the rest, in a mariadb's Deployment
				}
				allowed("change of a child", err)
			}
		})
	}
	start := time.Now()
	writers.Wait()
	others.Wait()
	wrote := time.Since(start)

	var found findings
	// Not testkit.Await: that would list 10,000 objects every 10 ms.
	err := wait.PollUntilContextTimeout(t.Context(), 500*time.Millisecond, 6*time.Minute, true, func(context.Context) (bool, error) {
		found = e.compareAll()
		return len(found.wrong)+len(found.notCollected) == 0 && c.idle() && len(c.queue.Waiting()) == 0, nil
	})
	if err != nil {
		t.Fatalf("not the desired state: %+v; keys that wait for a retry: %v", found, c.queue.Waiting())
	}
	took := (time.Since(start) - wrote).Round(time.Millisecond)
	t.Logf("%d operations in %s, desired state %s after the last; %d objects in the end, %d syncs",
		operations, wrote.Round(time.Millisecond), took, found.objects, c.syncs.Load())
	before := c.syncs.Load()
	c.resync(t)
	if found := e.compareAll(); len(found.wrong) > 0 {
		t.Errorf("after %d more syncs: %v", c.syncs.Load()-before, found.wrong)
	}
}

// findings is what compareAll returns.
type findings struct {
	objects      int
	wrong        []string // not as it should be
	notCollected []string // children with a correct reference to an owner that is gone, which the garbage collector has to delete
	waiting      []string // DatabaseManagers that wait for such a child of the same name, and whose status says so
}

// compareAll compares all objects in the namespace with their desired state. Each child is named after its owner.
func (e *env) compareAll() (found findings) {
	e.Helper()
	wrong := func(format string, args ...any) { found.wrong = append(found.wrong, fmt.Sprintf(format, args...)) }
	list := metav1.ListOptions{}
	databases := testkit.Must(e.databases.List(e.Context(), list))(e).Items
	found.objects = len(databases)
	owners := map[types.UID]*dbv1alpha1.DatabaseManager{}
	for i := range databases {
		owners[databases[i].UID] = &databases[i]
	}
	children, notCollected := map[types.UID]int{}, map[string]bool{}
	// ownerOf compares a child's metadata and returns its owner, or nil.
	ownerOf := func(child metav1.Object) *dbv1alpha1.DatabaseManager {
		reference := metav1.GetControllerOfNoCopy(child)
		switch {
		case reference == nil || reference.Kind != "DatabaseManager" || reference.APIVersion != dbv1alpha1.GroupVersion.String() ||
			!strings.HasPrefix(child.GetName(), reference.Name):
			wrong("%T %s has owner references %v", child, child.GetName(), child.GetOwnerReferences())
			return nil
		case owners[reference.UID] == nil:
			notCollected[child.GetName()] = true
			found.notCollected = append(found.notCollected, fmt.Sprintf("%T %s of %s", child, child.GetName(), reference.UID))
			return nil
		}
		labels := child.GetLabels()
		if labels[database.ManagedByLabel] != database.FieldManager || labels[database.FirstOwnerLabel] != string(reference.UID) {
			wrong("%T %s has labels %v", child, child.GetName(), child.GetLabels())
		}
		children[reference.UID]++
		return owners[reference.UID]
	}
	for _, o := range testkit.Must(e.deployments.List(e.Context(), list))(e).Items {
		d := ownerOf(&o)
		if d == nil {
			continue
		}
		desired := database.Deployment(d, nil).Spec
		var container corev1.Container
		for _, c := range o.Spec.Template.Spec.Containers {
			if c.Name == string(d.Spec.Dbtype) {
				container = c
			}
		}
		if *o.Spec.Replicas != *desired.Replicas || container.Image != *desired.Template.Spec.Containers[0].Image ||
			o.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			wrong("Deployment %s: %d replicas of %s", o.Name, *o.Spec.Replicas, container.Image)
		}
	}
	for _, o := range testkit.Must(e.services.List(e.Context(), list))(e).Items {
		if d := ownerOf(&o); d != nil && o.Spec.Selector[database.FirstOwnerLabel] != string(d.UID) {
			wrong("Service %s selects %v", o.Name, o.Spec.Selector)
		}
	}
	for _, o := range testkit.Must(e.secrets.List(e.Context(), list))(e).Items {
		if d := ownerOf(&o); d != nil && len(o.Data["password"]) == 0 {
			wrong("Secret %s has no password", o.Name)
		}
	}
	for _, o := range testkit.Must(e.claims.List(e.Context(), list))(e).Items {
		ownerOf(&o)
	}
	for _, d := range databases {
		ready := readyOf(&d)
		if ready != nil && ready.Reason == reasonWaitingForDeletion && ready.ObservedGeneration == d.Generation &&
			slices.ContainsFunc(strings.Fields(ready.Message), func(word string) bool { return notCollected[word] }) {
			found.waiting = append(found.waiting, d.Name)
			continue
		}
		desired := 3
		if d.Spec.StorageSize != nil {
			desired++
		}
		if children[d.UID] != desired {
			wrong("%s has %d children", d.Name, children[d.UID])
		}
		if ready == nil || ready.ObservedGeneration != d.Generation ||
			(*d.Spec.Replicas == 0 || ready.Reason == reasonNameConflict) && ready.Status != metav1.ConditionTrue {
			wrong("%s has generation %d and condition %+v", d.Name, d.Generation, ready)
		}
	}
	return found
}
