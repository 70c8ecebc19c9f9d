package codegen

import (
	"context"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercise/isolatedgroup"
	"example.com/client-go-workbook/internal/test/testkit"
)

type statusAnswer = func(
	ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager, available int32,
) error

// Status grades the answers to "Status and observedGeneration".
var Status = grade.Exercise[statusAnswer]{
	Cluster: true,
	Timeout: time.Minute, // it sends more requests than other graders
	Grade:   gradeStatus,
}

func gradeStatus(t *grade.T, writeStatus statusAnswer) {
	config, namespace := isolatedgroup.Start(t)
	databases := dbclient.NewForConfigOrDie(config).DatabaseManagers(namespace)
	recorded, writes := testkit.Writes(config)
	counted := dbclient.NewForConfigOrDie(recorded).DatabaseManagers(namespace)

	// It has a status already: conditions and a selector, which another part of the controller has written.
	d := &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("db-%d", t.Rand.IntN(1000)), Labels: map[string]string{"team": "shop"}},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db", Replicas: new(int32(3))},
	}
	d = testkit.Must(databases.Create(t.Context(), d, metav1.CreateOptions{}))(t)
	d.Status.Selector = "app=db"
	for _, kind := range []string{dbv1alpha1.ConditionReady, dbv1alpha1.ConditionProgressing} {
		d.Status.Conditions = append(d.Status.Conditions,
			metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: "PodsNotReady", LastTransitionTime: metav1.Now()})
	}
	d = testkit.Must(databases.UpdateStatus(t.Context(), d, metav1.UpdateOptions{}))(t)

	available := 1 + t.Rand.Int32N(3)
	call := func(d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, error) {
		t.Helper()
		before := d.DeepCopy()
		err := writeStatus(t.Context(), counted, d, available)
		if !apiequality.Semantic.DeepEqual(d, before) {
			t.Reject("the object that you were given stays as it is", "it has changed",
				"it belongs to the store, which others read: DeepCopy")
		}
		return testkit.Must(databases.Get(t.Context(), d.Name, metav1.GetOptions{}))(t), err
	}

	t.Doing("the first WriteStatus to return")
	stored, err := call(d)
	switch {
	case err != nil:
		t.Reject("WriteStatus returns no error", err.Error(), "which request was sent, and what does the server say about it?")
	case stored.Status.AvailableReplicas != available || stored.Status.ObservedGeneration != 1:
		look := "is a request sent?"
		if len(writes()) > 0 {
			look = "a request was sent: with a status subresource, Update drops the status without an error"
		}
		t.Reject(fmt.Sprintf("the server has availableReplicas %d and observedGeneration 1", available),
			fmt.Sprintf("availableReplicas %d and observedGeneration %d", stored.Status.AvailableReplicas,
				stored.Status.ObservedGeneration), look)
	case !apiequality.Semantic.DeepEqual(stored.Status, statusOf(d, 1, available)):
		t.Reject("the conditions stay, and the rest of the status", fmt.Sprintf("now it has %d conditions of %d, and the selector %q",
			len(stored.Status.Conditions), len(d.Status.Conditions), stored.Status.Selector),
			"UpdateStatus writes the status as a whole: begin with the one that is there")
	case !apiequality.Semantic.DeepEqual(stored.Labels, d.Labels) || !apiequality.Semantic.DeepEqual(stored.Spec, d.Spec):
		t.Reject("the labels and the spec stay", "they have changed", "which fields does your request have?")
	}

	t.Doing("the second WriteStatus to return, with the same values")
	writes()
	_, err = call(stored)
	if n := len(writes()); n > 0 || err != nil {
		t.Reject("no request that writes, and no error, if nothing differs", fmt.Sprintf("%d such requests, error %v", n, err),
			"each write is an event, and each event is another sync")
	}

	// The user changes the spec, and the sync does not know.
	newer := stored.DeepCopy()
	newer.Spec.Replicas = new(int32(5))
	testkit.Must(databases.Update(t.Context(), newer, metav1.UpdateOptions{}))(t)
	available += 1
	t.Doing("the third WriteStatus to return, with an object that is out of date")
	after, err := call(stored)
	switch {
	case after.Status.ObservedGeneration > 1:
		t.Reject("observedGeneration is at most 1: the sync has read generation 1",
			fmt.Sprintf("observedGeneration is %d, for a spec that no sync has read", after.Status.ObservedGeneration),
			"of which object is the generation that you write?")
	case *after.Spec.Replicas != 5:
		t.Reject("the user's change of the spec stays", "it is undone", "which fields does your request have?")
	case err == nil && after.Status.AvailableReplicas != available:
		t.Reject("the status is written, or there is an error", "neither", "is the error of the request returned?")
	}

	// The next sync has the new spec, and counts what the status has already. The one after it counts one more.
	available = after.Status.AvailableReplicas
	t.Doing("WriteStatus to return, after a sync of the new spec")
	after, err = call(after)
	if err != nil || after.Status.ObservedGeneration != 2 {
		t.Reject("observedGeneration is 2 after a sync of the new spec, also with the same availableReplicas",
			fmt.Sprintf("observedGeneration is %d, error %v", after.Status.ObservedGeneration, err), "when does nothing differ?")
	}
	available++
	t.Doing("WriteStatus to return, after one more server is available")
	after, err = call(after)
	if err != nil || after.Status.AvailableReplicas != available {
		t.Reject(fmt.Sprintf("availableReplicas is %d, one more, also with the same observedGeneration", available),
			fmt.Sprintf("availableReplicas is %d, error %v", after.Status.AvailableReplicas, err), "when does nothing differ?")
	}
	number := available
	available = 0
	t.Doing("WriteStatus to return, when no server is available any more")
	after, err = call(after)
	if err != nil || after.Status.AvailableReplicas != 0 {
		t.Reject(fmt.Sprintf("availableReplicas is 0 when no server is available any more; it was %d", number),
			fmt.Sprintf("availableReplicas is %d, error %v", after.Status.AvailableReplicas, err),
			"does your request have the number if it is 0? A patch without it leaves the old one")
	}
	available = number

	// Another part of the controller writes a condition. The sync does not know that.
	fresh := after.DeepCopy()
	fresh.Status.Conditions = append(fresh.Status.Conditions,
		metav1.Condition{Type: "Backup", Status: metav1.ConditionTrue, Reason: "Done", LastTransitionTime: metav1.Now()})
	fresh = testkit.Must(databases.UpdateStatus(t.Context(), fresh, metav1.UpdateOptions{}))(t)
	available++
	t.Doing("WriteStatus to return, after somebody else has written a condition")
	if now, _ := call(after); len(now.Status.Conditions) != len(fresh.Status.Conditions) {
		t.Reject("a condition that somebody else has written since stays", "it is gone",
			"of which version is the status that you write? Two are possible, and an error")
	}

	// The user deletes it, and creates another one of that name. The sync does not know that, either.
	if err := databases.Delete(t.Context(), stored.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	second := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: stored.Name}, Spec: stored.Spec}
	second = testkit.Must(databases.Create(t.Context(), second, metav1.CreateOptions{}))(t)
	t.Doing("the fourth WriteStatus to return, with an object that has been deleted since")
	if after, _ = call(stored); after.Status.AvailableReplicas == available {
		t.Reject("the new object has no status: it is not the one that was processed", fmt.Sprintf("availableReplicas is %d", available),
			"a request names an object only by its name, unless it has a resourceVersion")
	}
	// The new one comes to what the old one had, and then somebody removes its status.
	second.Spec.Replicas = new(int32(5))
	second = testkit.Must(databases.Update(t.Context(), second, metav1.UpdateOptions{}))(t)
	for _, available = range []int32{0, number} {
		for _, when := range []string{"for a new object of the same name", "after somebody has removed the status"} {
			second.Status = dbv1alpha1.DatabaseManagerStatus{}
			second = testkit.Must(databases.UpdateStatus(t.Context(), second, metav1.UpdateOptions{}))(t)
			t.Doing("WriteStatus to return, %s", when)
			after, err := call(second)
			if got := after.Status; err != nil || got.ObservedGeneration != 2 || got.AvailableReplicas != available {
				t.Reject(fmt.Sprintf("%s, the server has availableReplicas %d and observedGeneration 2", when, available),
					fmt.Sprintf("availableReplicas %d and observedGeneration %d, error %v",
						got.AvailableReplicas, got.ObservedGeneration, err),
					"what does WriteStatus remember? The object that it is given says all")
			}
			second = after
		}
	}
	gradeStatusErrors(t, writeStatus, config, databases)
}

// statusOf is the status of d with other values.
func statusOf(d *dbv1alpha1.DatabaseManager, observedGeneration int64, availableReplicas int32) dbv1alpha1.DatabaseManagerStatus {
	status := *d.Status.DeepCopy()
	status.ObservedGeneration, status.AvailableReplicas = observedGeneration, availableReplicas
	return status
}

// gradeStatusErrors lets each request of the answer fail.
func gradeStatusErrors(t *grade.T, writeStatus statusAnswer, config *rest.Config, databases dbclient.DatabaseManagerInterface) {
	done := "the server has the right status"
	calls := &grade.Calls{Name: "WriteStatus", Config: config, Done: done, New: func(number int) grade.Case {
		name, available := fmt.Sprintf("case-%d", number), 1+t.Rand.Int32N(3)
		spec := dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MariaDB, DeploymentName: name}
		created := testkit.Must(databases.Create(t.Context(), &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: spec}, metav1.CreateOptions{}))(t)
		get := func() *dbv1alpha1.DatabaseManager {
			return testkit.Must(databases.Get(t.Context(), name, metav1.GetOptions{}))(t)
		}
		return grade.Case{
			Call: func(ctx context.Context, config *rest.Config) error { // each sync has the object of the store, which is up to date
				return writeStatus(ctx, dbclient.NewForConfigOrDie(config).DatabaseManagers(created.Namespace), get(), available)
			},
			State: func() string {
				if got := get().Status; got.ObservedGeneration != created.Generation || got.AvailableReplicas != available {
					return "the server does not have the new status"
				}
				return done
			},
		}
	}}
	calls.Right = func(_ grade.Request, fault grade.Fault) grade.Outcome {
		if fault == grade.NotFound {
			return grade.Anything // an object that is gone needs no status
		}
		return grade.ErrorOrDone
	}
	calls.FailEachRequest(t)
	calls.EndContext(t)
}
