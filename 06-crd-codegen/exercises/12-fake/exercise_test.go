package exercise_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/12-fake"
	answers "example.com/client-go-workbook/06-crd-codegen/exercises/answers/12-fake"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercise/isolatedgroup"
)

type answer = func(ctx context.Context, databases dbclient.DatabaseManagerInterface, sync sync) error

// sync is a controller's.
type sync = func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Check,
	Accepted: []answer{answers.Check, answers.WaitsForTheStatus},
	Rejected: []grade.Rejected[answer]{
		{Name: "counts the requests to the fake", Answer: answers.CountsTheRequestsToTheFake, Says: "your Check returns nil"},
		{Name: "checks one sync only", Answer: answers.ChecksOneSyncOnly, Says: "observedGeneration is never raised"},
		{Name: "checks only the error of sync", Answer: answers.ChecksOnlyTheErrorOfSync, Says: "the status is written with Update"},
	},
	Grade: gradeCheck,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradeCheck(t *grade.T, check answer) {
	config, namespace := isolatedgroup.Start(t)
	databases := dbclient.NewForConfigOrDie(config).DatabaseManagers(namespace)
	controllers := []struct {
		what, look string
		sync       sync
		right      bool
	}{
		{"is right, and writes with UpdateStatus", "", writesWith(func(ctx context.Context, databases dbclient.DatabaseManagerInterface,
			d *dbv1alpha1.DatabaseManager) error {
			_, err := databases.UpdateStatus(ctx, d, metav1.UpdateOptions{})
			return err
		}), true},
		{"is right, and sends a patch", "", writesWith(patch), true},
		{"has a bug: the status is written with Update", "the status that the server has after the sync",
			writesWith(func(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error {
				_, err := databases.Update(ctx, d, metav1.UpdateOptions{})
				return err
			}), false},
		{"has a bug: observedGeneration is never raised", "what does a user do after the first sync?",
			writesWith(func(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error {
				d.Status.ObservedGeneration = 1
				_, err := databases.UpdateStatus(ctx, d, metav1.UpdateOptions{})
				return err
			}), false},
		{"has a bug: the CRD does not accept the condition's reason", "the error of sync, or the conditions that the server has",
			writesWith(func(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error {
				d.Status.Conditions[0].Reason = "Replicas ready"
				_, err := databases.UpdateStatus(ctx, d, metav1.UpdateOptions{})
				return err
			}), false},
		{"has a bug: it writes no resourceVersion", "the error of sync, or the status that the server has",
			writesWith(func(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error {
				d.ResourceVersion = ""
				_, err := databases.UpdateStatus(ctx, d, metav1.UpdateOptions{})
				return err
			}), false},
	}
	missed, found := -1, 0
	for _, i := range t.Rand.Perm(len(controllers)) {
		c := controllers[i]
		t.Doing("Check to return for a controller that %s", c.what)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // for a Check that waits for a status that never comes
		err := check(ctx, databases, c.sync)
		cancel()
		if deleteErr := databases.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); deleteErr != nil {
			t.Fatal(deleteErr)
		}
		switch {
		case c.right && err != nil:
			t.Reject("Check returns nil for a controller that "+c.what, err.Error(),
				"the case that your Check complains about: what does a real server do?")
		case c.right:
		case err != nil:
			found++
		case missed < 0 || i < missed:
			missed = i
		}
	}
	if missed >= 0 {
		t.Reject("Check returns an error for a controller that "+controllers[missed].what,
			fmt.Sprintf("your Check returns nil; of 4 controllers with a bug it has found %d", found), controllers[missed].look)
	}
}

// writesWith returns a sync that writes the right status with a function, which can change it.
func writesWith(write func(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error) sync {
	return func(ctx context.Context, databases dbclient.DatabaseManagerInterface, name string) error {
		d, err := databases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		d.Status.ObservedGeneration = d.Generation
		d.Status.AvailableReplicas = *d.Spec.Replicas
		d.Status.Conditions = []metav1.Condition{{Type: dbv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "ReplicasReady",
			LastTransitionTime: metav1.Now()}}
		return write(ctx, databases, d)
	}
}

func patch(ctx context.Context, databases dbclient.DatabaseManagerInterface, d *dbv1alpha1.DatabaseManager) error {
	c := d.Status.Conditions[0]
	_, err := databases.Patch(ctx, d.Name, types.MergePatchType, fmt.Appendf(nil,
		`{"status":{"observedGeneration":%d,"availableReplicas":%d,
		"conditions":[{"type":%q,"status":%q,"reason":%q,"message":"","lastTransitionTime":%q}]}}`,
		d.Status.ObservedGeneration, d.Status.AvailableReplicas, c.Type, c.Status, c.Reason,
		c.LastTransitionTime.UTC().Format("2006-01-02T15:04:05Z")),
		metav1.PatchOptions{}, "status")
	return err
}
