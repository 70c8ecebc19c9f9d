package exercise_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/04-condition"
	answers "example.com/client-go-workbook/06-crd-codegen/exercises/answers/04-condition"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition

var grader = grade.Exercise[answer]{
	Learner:  exercise.WithReady,
	Accepted: []answer{answers.WithReady, answers.X},
	Rejected: []grade.Rejected[answer]{
		{Name: "takes the time of each sync", Answer: answers.TakesTheTimeOfEachSync, Says: "lastTransitionTime stays"},
		{Name: "adds one more condition", Answer: answers.AddsOneMoreCondition, Says: "one condition Ready"},
		{Name: "changes the store's list", Answer: answers.ChangesTheStoresList, Says: "the list that you were given stays as it is"},
		{Name: "takes a new reason for a transition", Answer: answers.TakesANewReasonForATransition, Says: "lastTransitionTime stays"},
	},
	Grade: func(t *grade.T, withReady answer) { t.Bubble(func(t *grade.T) { gradeCondition(t, withReady) }) },
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

// gradeCondition runs in a bubble, in which an hour passes at once.
func gradeCondition(t *grade.T, withReady answer) {
	other := metav1.Condition{Type: "Progressing", Status: metav1.ConditionFalse, Reason: "Complete", LastTransitionTime: metav1.Now()}
	conditions := []metav1.Condition{other}
	var before metav1.Condition // Ready; empty at first
	for i := range 50 {
		time.Sleep(time.Hour)
		desired := 2 + t.Rand.Int32N(3)
		available := t.Rand.Int32N(desired + 2)
		if i == 1 { // the same status, with another reason and message
			desired, available = 5, 2
		}
		if i == 0 {
			desired, available = 5, 0
		}
		want := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "PodsNotReady",
			ObservedGeneration: int64(1 + i/7), LastTransitionTime: before.LastTransitionTime}
		switch {
		case available >= desired:
			want.Status, want.Reason = metav1.ConditionTrue, "ReplicasReady"
		case available == 0:
			want.Reason = "NoPods"
		}
		if want.Status != before.Status {
			want.LastTransitionTime = metav1.Now()
		}
		state := fmt.Sprintf("%d of %d replicas are available", available, desired)

		given := slices.Clone(conditions)
		result := withReady(conditions, want.ObservedGeneration, available, desired)
		if !slices.Equal(given, conditions) {
			t.Reject("the list that you were given stays as it is", "an element of it has changed",
				"it belongs to the store's object; SetStatusCondition writes into the list")
		}
		ready := only(t, result, "Ready", state)
		if got := only(t, result, "Progressing", state); got != other {
			t.Reject("the condition Progressing stays as it is", fmt.Sprintf("it is %s %s", got.Status, got.Reason),
				"which elements do you write?")
		}
		if ready.Status != want.Status || ready.Reason != want.Reason || ready.ObservedGeneration != want.ObservedGeneration {
			t.Reject(fmt.Sprintf("Ready=%s %s, observedGeneration %d, when %s", want.Status, want.Reason, want.ObservedGeneration, state),
				fmt.Sprintf("Ready=%s %s, observedGeneration %d", ready.Status, ready.Reason, ready.ObservedGeneration),
				"the table in the task")
		}
		if !ready.LastTransitionTime.Equal(&want.LastTransitionTime) {
			expected := fmt.Sprintf("lastTransitionTime stays when Ready=%s %s becomes Ready=%s %s", before.Status, before.Reason,
				want.Status, want.Reason)
			if want.Status != before.Status {
				expected = fmt.Sprintf("lastTransitionTime is now when Ready=%s becomes Ready=%s", before.Status, want.Status)
			}
			t.Reject(expected, fmt.Sprintf("it is %s, and was %s", clock(ready.LastTransitionTime), clock(before.LastTransitionTime)),
				"it is the time of a change of the status: SetStatusCondition in k8s.io/apimachinery/pkg/api/meta")
		}
		if again := withReady(result, want.ObservedGeneration, available, desired); only(t, again, "Ready", state) != ready {
			t.Reject("the same state has the same condition", "a second call gives another one",
				"is there anything in the message that changes by itself?")
		}
		conditions, before = result, ready
	}
}

// only returns the condition of that type, of which there must be one.
func only(t *grade.T, conditions []metav1.Condition, kind, state string) (found metav1.Condition) {
	t.Helper()
	n := 0
	for _, condition := range conditions {
		if condition.Type == kind {
			n, found = n+1, condition
		}
	}
	if n != 1 {
		t.Reject(fmt.Sprintf("one condition %s, when %s", kind, state), fmt.Sprintf("%d", n), "the list is a map, with the type as its key")
	}
	return found
}

func clock(time metav1.Time) string { return time.UTC().Format("15:04:05") }
