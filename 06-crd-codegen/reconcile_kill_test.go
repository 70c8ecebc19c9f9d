package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestKilledAfterEachWrite kills the controller with SIGKILL after its first write, its second, and so on, starts
// another one, and expects the same objects in the end, whichever write it was.
func TestKilledAfterEachWrite(t *testing.T) {
	t.Parallel()
	for _, policy := range []dbv1alpha1.DeletionPolicy{dbv1alpha1.DeletionPolicyDelete, dbv1alpha1.DeletionPolicyRetain} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			want, killed := newEnv(t).liveAndDie(policy, 0)
			if killed {
				t.Fatal("killed without a limit")
			}
			// All positions, several at a time, until one is not reached any more.
			var mu sync.Mutex
			positions, next := 0, 0
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() {
					for {
						mu.Lock()
						next++
						position := next
						mu.Unlock()
						reached := true
						t.Run(fmt.Sprintf("after write %d", position), func(t *testing.T) {
							var got []string
							got, reached = newEnv(t).liveAndDie(policy, position)
							if diff := cmp.Diff(want, got); diff != "" {
								t.Errorf("the objects in the end (-not killed +killed):\n%s", diff)
							}
						})
						if !reached || t.Failed() {
							return
						}
						mu.Lock()
						positions++
						mu.Unlock()
					}
				})
			}
			group.Wait()
			if positions < 8 {
				t.Errorf("only %d positions", positions)
			}
			t.Logf("killed at %d positions", positions)
		})
	}
}

// liveAndDie takes a DatabaseManager through its life, with a controller that is killed after this number of writes and then
// started again. It returns the objects in the end, and whether the controller has sent as many.
func (e *env) liveAndDie(policy dbv1alpha1.DeletionPolicy, killAfter int) (result []string, killed bool) {
	e.Helper()
	kubeconfig := e.kubeconfig()
	first := e.startProcess(kubeconfig, fmt.Sprintf("%s=%d", killAfterVar, killAfter))
	// It is started again as soon as it has died, whatever the test waits for at that time.
	var group sync.WaitGroup
	over, end := context.WithCancel(e.Context())
	defer group.Wait()
	defer end()
	group.Go(func() {
		select {
		case <-first.Ended():
			e.startProcess(kubeconfig)
		case <-over.Done():
		}
	})

	e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) {
		// Without replicas: it is the controller's writes that count, and pods would only take time.
		s.Replicas, s.StorageSize, s.DeletionPolicy = new(int32(0)), new(resource.MustParse("1Gi")), policy
	})
	e.untilReady("example", rollout.ReasonScaledToZero)
	password := string(e.secret("db-root").Data["password"])
	e.patch("example", `{"spec": {"version": "8.4.5"}}`)
	e.untilReady("example", rollout.ReasonScaledToZero)
	if string(e.secret("db-root").Data["password"]) != password {
		e.Error("the password has changed")
	}
	e.delete("example")
	untilGone(e, "the DatabaseManager", e.databases.Get, "example")
	// A sync that has not yet heard of the deletion creates a deleted child again. The garbage collector deletes that, too.
	testkit.Await(e, "the end of all objects", func() bool {
		result = e.everything()
		return len(result) == 0 || policy == dbv1alpha1.DeletionPolicyRetain
	}, &result)
	select {
	case <-first.Ended():
		killed = true
	default:
	}
	return result, killed
}

// everything returns a line for each object in the namespace that a controller could have created.
func (e *env) everything() (all []string) {
	e.Helper()
	add := func(object metav1.Object, what any) {
		all = append(all, fmt.Sprintf("%T %s owners %d: %v", object, object.GetName(), len(object.GetOwnerReferences()), what))
	}
	list := metav1.ListOptions{}
	for _, o := range testkit.Must(e.deployments.List(e.Context(), list))(e).Items {
		add(&o, o.Spec.Template.Spec.Containers[0].Image)
	}
	for _, o := range testkit.Must(e.services.List(e.Context(), list))(e).Items {
		add(&o, o.Spec.Ports[0].Port)
	}
	for _, o := range testkit.Must(e.secrets.List(e.Context(), list))(e).Items {
		add(&o, len(o.Data["password"]))
	}
	for _, o := range testkit.Must(e.claims.List(e.Context(), list))(e).Items {
		add(&o, o.Spec.Resources.Requests.Storage())
	}
	for _, o := range testkit.Must(e.databases.List(e.Context(), list))(e).Items {
		add(&o, o.Finalizers)
	}
	slices.Sort(all)
	return all
}

// createVolume creates a volume for a claim, if the cluster has nothing that does, such as a default StorageClass. The
// function that it returns deletes it.
func (e *env) createVolume(claim string) (remove func()) {
	e.Helper()
	if classes := testkit.Must(e.client.StorageV1().StorageClasses().List(e.Context(), metav1.ListOptions{}))(e); len(classes.Items) > 0 {
		return func() {}
	}
	volume := testkit.Must(e.client.CoreV1().PersistentVolumes().Create(e.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			ClaimRef:               &corev1.ObjectReference{Namespace: e.namespace, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/" + e.namespace}},
		},
	}, metav1.CreateOptions{}))(e)
	return func() {
		if err := e.client.CoreV1().PersistentVolumes().Delete(context.Background(), volume.Name, metav1.DeleteOptions{}); err != nil {
			e.Error(err)
		}
	}
}

// TestSecondReplicaTakesOverFromAKilledLeader runs two replicas and kills the leader, then ends the other one by SIGTERM.
func TestSecondReplicaTakesOverFromAKilledLeader(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	kubeconfig := e.kubeconfig()
	first := e.startProcess(kubeconfig, leaderVar+"=1")
	testkit.Await(t, "the first to lead", func() bool { return leads(first) }, &first.Out)
	second := e.startProcess(kubeconfig, leaderVar+"=1")
	e.create("example")
	e.untilReady("example", rollout.ReasonReplicasReady)
	if leads(second) || len(second.Out.Lines("CREATED")) > 0 {
		t.Errorf("the second leads, too:\n%s", &second.Out)
	}

	first.Kill()
	e.patch("example", `{"spec": {"replicas": 2}}`)
	testkit.Await(t, "the second to lead", func() bool { return leads(second) }, &second.Out)
	e.untilReady("example", rollout.ReasonReplicasReady)
	if n := len(second.Out.Lines("CREATED")); n > 0 {
		t.Errorf("the second has created %d children again", n)
	}

	// At SIGTERM the lease is released: the third need not wait until it has run out.
	second.Signal(t, syscall.SIGTERM)
	if code := second.Exit(t); code != 0 || len(second.Out.Lines("DRAINED")) != 1 {
		t.Errorf("at SIGTERM: exit code %d, output\n%s", code, &second.Out)
	}
	lease := testkit.Must(e.client.CoordinationV1().Leases(e.namespace).Get(t.Context(), leaseName, metav1.GetOptions{}))(e)
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("the lease was not released: its holder is %s", *holder)
	}
	third := e.startProcess(kubeconfig, leaderVar+"=1")
	testkit.Await(t, "the third to lead", func() bool { return leads(third) }, &third.Out)
}
