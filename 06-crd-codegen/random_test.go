package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"k8s.io/client-go/kubernetes"
)

// TestRandom creates, changes and deletes 2,000 objects at random, while a second writer fights over their children's
// fields. When both stop, the world must become what the objects want: nothing wrong, nothing left over, no key failing.
func TestRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	const names, operations = 2000, 4000
	w := newWorld(t)
	c, _ := startController(t, kubernetes.NewForConfigOrDie(w.config), versioned.NewForConfigOrDie(w.config), w.namespace, 10, io.Discard)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)

	var writers, fighters sync.WaitGroup
	allowed := func(what string, err error) {
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			t.Errorf("%s: %v", what, err)
		}
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
					_, err := w.databases.Create(t.Context(), d, metav1.CreateOptions{})
					allowed("create", err)
				case op < 5:
					_, err := w.databases.Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"spec": {"version": "8.4.%d"}}`, random.IntN(6)), metav1.PatchOptions{})
					allowed("version", err)
				case op < 7:
					_, err := w.databases.Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, max(0, random.IntN(12)-10)), metav1.PatchOptions{})
					allowed("replicas", err)
				default:
					allowed("delete", w.databases.Delete(t.Context(), name, metav1.DeleteOptions{}))
				}
			}
		})
	}
	fighting, stop := context.WithCancel(t.Context())
	for fighter := range uint64(2) {
		random := rand.New(rand.NewPCG(seed, 100+fighter))
		fighters.Go(func() {
			options := metav1.PatchOptions{FieldManager: "fighter"}
			for fighting.Err() == nil {
				name := fmt.Sprintf("db-%d", random.IntN(names))
				var err error
				switch random.IntN(6) {
				case 0:
					_, err = w.client.AppsV1().Deployments(w.namespace).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec": {"replicas": 0, "paused": true}, "metadata": {"annotations": {"a": "b"}}}`), options)
				case 1:
					_, err = w.client.AppsV1().Deployments(w.namespace).Patch(t.Context(), name, types.StrategicMergePatchType, []byte(`{"spec": {"paused": false, "template": {"spec": {"containers": [{"name": "mysql", "image": "mysql:0.0.1"}]}}}}`), options)
				case 2:
					_, err = w.client.CoreV1().Services(w.namespace).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec": {"selector": {"coolops.cn/databasemanager": "fighter"}}, "metadata": {"labels": {"app.kubernetes.io/managed-by": null}}}`), options)
				case 3:
					_, err = w.client.CoreV1().Secrets(w.namespace).Patch(t.Context(), name+secretSuffix, types.MergePatchType, []byte(`{"metadata": {"labels": {"`+databaseLabel+`": "fighter"}}}`), options)
				case 4:
					err = w.client.CoreV1().Services(w.namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
				case 5:
					err = w.client.AppsV1().Deployments(w.namespace).Delete(t.Context(), name, metav1.DeleteOptions{})
				}
				if apierrors.IsInvalid(err) {
					err = nil // a container mysql without the rest, in a mariadb's Deployment
				}
				allowed("fight", err)
			}
		})
	}
	start := time.Now()
	writers.Wait()
	stop()
	fighters.Wait()
	wrote := time.Since(start)

	var wrong []string
	var objects int
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 6*time.Minute, true, func(context.Context) (bool, error) {
		wrong, objects = w.wrongEverywhere()
		return len(wrong) == 0 && c.idle() && len(c.failing()) == 0, nil
	})
	if err != nil {
		t.Fatalf("%d thing(s) wrong, such as %v; failing: %v", len(wrong), wrong[:min(5, len(wrong))], c.failing())
	}
	t.Logf("%d operations in %s, right %s after the last; %d objects in the end, %d syncs", operations, wrote.Round(time.Millisecond), (time.Since(start) - wrote).Round(time.Millisecond), objects, c.syncs.Load())
	before := c.syncs.Load()
	c.resync(t)
	if wrong, _ := w.wrongEverywhere(); len(wrong) > 0 {
		t.Errorf("after %d more syncs: %v", c.syncs.Load()-before, wrong)
	}
}

// wrongEverywhere compares all objects in the namespace with what they should be.
func (w *world) wrongEverywhere() (wrong []string, objects int) {
	w.Helper()
	list := metav1.ListOptions{}
	databases := got(w.databases.List(w.Context(), list))(w).Items
	owners := map[types.UID]*dbv1alpha1.DatabaseManager{}
	for i := range databases {
		owners[databases[i].UID] = &databases[i]
	}
	children := map[types.UID]int{}
	// check looks at a child's metadata and returns its owner.
	check := func(child metav1.Object) *dbv1alpha1.DatabaseManager {
		owner := metav1.GetControllerOfNoCopy(child)
		if owner == nil || owners[owner.UID] == nil {
			wrong = append(wrong, fmt.Sprintf("%T %s is an orphan", child, child.GetName()))
			return nil
		}
		if child.GetLabels()[managedByLabel] != fieldManager || child.GetLabels()[databaseLabel] != string(owner.UID) {
			wrong = append(wrong, fmt.Sprintf("%T %s has labels %v", child, child.GetName(), child.GetLabels()))
		}
		children[owner.UID]++
		return owners[owner.UID]
	}
	for _, o := range got(w.client.AppsV1().Deployments(w.namespace).List(w.Context(), list))(w).Items {
		d := check(&o)
		if d == nil {
			continue
		}
		want := desiredDeployment(d, nil).Spec
		var container corev1.Container
		for _, c := range o.Spec.Template.Spec.Containers {
			if c.Name == string(d.Spec.Dbtype) {
				container = c
			}
		}
		if *o.Spec.Replicas != *want.Replicas || container.Image != *want.Template.Spec.Containers[0].Image || o.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
			wrong = append(wrong, fmt.Sprintf("Deployment %s: %d replicas of %s", o.Name, *o.Spec.Replicas, container.Image))
		}
	}
	for _, o := range got(w.client.CoreV1().Services(w.namespace).List(w.Context(), list))(w).Items {
		if d := check(&o); d != nil && o.Spec.Selector[databaseLabel] != string(d.UID) {
			wrong = append(wrong, fmt.Sprintf("Service %s selects %v", o.Name, o.Spec.Selector))
		}
	}
	for _, o := range got(w.client.CoreV1().Secrets(w.namespace).List(w.Context(), list))(w).Items {
		if d := check(&o); d != nil && len(o.Data["password"]) == 0 {
			wrong = append(wrong, fmt.Sprintf("Secret %s has no password", o.Name))
		}
	}
	for _, o := range got(w.client.CoreV1().PersistentVolumeClaims(w.namespace).List(w.Context(), list))(w).Items {
		check(&o)
	}
	for _, d := range databases {
		want := 3
		if d.Spec.StorageSize != nil {
			want++
		}
		if children[d.UID] != want {
			wrong = append(wrong, fmt.Sprintf("%s has %d children", d.Name, children[d.UID]))
		}
		ready := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady)
		if ready == nil || ready.ObservedGeneration != d.Generation || (*d.Spec.Replicas == 0 || ready.Reason == reasonNameConflict) && ready.Status != metav1.ConditionTrue {
			wrong = append(wrong, fmt.Sprintf("%s has generation %d and condition %+v", d.Name, d.Generation, ready))
		}
	}
	return wrong, len(databases)
}
