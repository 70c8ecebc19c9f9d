package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type conditionAnswer = func(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition

// Condition grades the answers to "Since when a condition has its status".
var Condition = grade.Exercise[conditionAnswer]{
	Grade: func(t *grade.T, withReady conditionAnswer) {
		t.Bubble(func(t *grade.T) { gradeCondition(t, withReady) })
	},
}

// conditioned is one whose conditions the answer brings up to date.
type conditioned struct {
	conditions []metav1.Condition
	others     []metav1.Condition // of these: all but Ready
	before     metav1.Condition   // Ready; empty at first
}

// gradeCondition runs in a bubble, in which an hour passes at once.
func gradeCondition(t *grade.T, withReady conditionAnswer) {
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Complete", LastTransitionTime: metav1.Now()}
	}
	others := []metav1.Condition{condition("Progressing", metav1.ConditionFalse), condition("PodsReady", metav1.ConditionTrue)}
	unknown := condition("Ready", metav1.ConditionUnknown)
	objects := []*conditioned{
		{}, // a new one
		{conditions: others, others: others},
		{conditions: []metav1.Condition{others[0], unknown, others[1]}, others: others, before: unknown},
	}
	for i := range 50 {
		for _, o := range objects {
			time.Sleep(time.Hour)
			desired := t.Rand.Int32N(5)
			available := t.Rand.Int32N(desired + 2)
			switch i {
			case 0:
				desired, available = 5, 0
			case 1: // the same status, with another reason and message
				desired, available = 5, 2
			case 2:
				desired, available = 0, 0
			}
			gradeCall(t, withReady, o, int64(1+i/7), available, desired)
		}
	}
}

// gradeCall grades one call, and the next one for the same state.
func gradeCall(t *grade.T, withReady conditionAnswer, o *conditioned, generation int64, available, desired int32) {
	want := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "PodsNotReady",
		ObservedGeneration: generation, LastTransitionTime: o.before.LastTransitionTime}
	switch {
	case available >= desired:
		want.Status, want.Reason = metav1.ConditionTrue, "ReplicasReady"
	case available == 0:
		want.Reason = "NoPods"
	}
	if want.Status != o.before.Status {
		want.LastTransitionTime = metav1.Now()
	}
	state := fmt.Sprintf("%d of %d replicas are available", available, desired)

	call := func(conditions []metav1.Condition, generation int64) []metav1.Condition {
		t.Helper()
		var array []metav1.Condition
		if n := len(conditions); n > 0 { // behind the end of a list, its array can have room
			array = append(slices.Clone(conditions), metav1.Condition{Message: "room"})
			conditions = array[:n]
		}
		before := slices.Clone(array)
		result := withReady(conditions, generation, available, desired)
		for i := range array {
			if array[i] == before[i] {
				continue
			}
			seen, look := "an element of it has changed", "it belongs to the store's object; SetStatusCondition writes into the list"
			if i == len(conditions) {
				seen = "an element was written behind the end, into its array: there was room"
				look = "append writes into the list's array if there is room: slices.Clone"
			}
			t.Reject("the list that you were given stays as it is", seen, look)
		}
		return result
	}
	result := call(o.conditions, generation)
	ready := only(t, result, "Ready", state)
	for _, other := range o.others {
		if got := only(t, result, other.Type, state); got != other {
			t.Reject("the condition "+other.Type+" stays as it is", fmt.Sprintf("it is %s %s", got.Status, got.Reason),
				"which elements do you write?")
		}
	}
	if len(result) != len(o.others)+1 {
		t.Reject("Ready is added, and no other condition", fmt.Sprintf("there are %d conditions", len(result)),
			"which elements do you write?")
	}
	if ready.Status != want.Status || ready.Reason != want.Reason || ready.ObservedGeneration != want.ObservedGeneration {
		t.Reject(fmt.Sprintf("Ready=%s %s, observedGeneration %d, when %s", want.Status, want.Reason, want.ObservedGeneration, state),
			fmt.Sprintf("Ready=%s %s, observedGeneration %d", ready.Status, ready.Reason, ready.ObservedGeneration),
			"the table in the task")
	}
	if m := ready.Message; !strings.Contains(m, fmt.Sprint(available)) || !strings.Contains(m, fmt.Sprint(desired)) ||
		strings.Contains(m, "%!") { // fmt's own error
		t.Reject(fmt.Sprintf("the message has both numbers, %d and %d", available, desired), fmt.Sprintf("it is %q", ready.Message),
			"what does a user want to know?")
	}
	if !ready.LastTransitionTime.Equal(&want.LastTransitionTime) {
		expected := fmt.Sprintf("lastTransitionTime stays when Ready=%s %s becomes Ready=%s %s", o.before.Status, o.before.Reason,
			want.Status, want.Reason)
		if want.Status != o.before.Status {
			expected = fmt.Sprintf("lastTransitionTime is now when Ready=%s becomes Ready=%s", cmp.Or(o.before.Status, "missing"),
				want.Status)
		}
		t.Reject(expected, fmt.Sprintf("it is %s, and was %s", clock(ready.LastTransitionTime), clock(o.before.LastTransitionTime)),
			"it is the time of a change of the status: SetStatusCondition in k8s.io/apimachinery/pkg/api/meta")
	}
	time.Sleep(time.Minute)
	again := only(t, call(result, generation), "Ready", state)
	if !again.LastTransitionTime.Equal(&ready.LastTransitionTime) {
		t.Reject("lastTransitionTime stays when the state is the same", "a minute later it is another one",
			"it is the time of a change of the status: SetStatusCondition in k8s.io/apimachinery/pkg/api/meta")
	}
	if again != ready {
		t.Reject("the same state has the same condition", "a second call gives another one, a minute later",
			"is there anything in the message that changes by itself?")
	}
	newer := only(t, call(result, generation+1), "Ready", state)
	want = ready
	want.ObservedGeneration++
	if newer != want {
		t.Reject(fmt.Sprintf("observedGeneration is %d when only the generation is a new one, and the rest stays", want.ObservedGeneration),
			fmt.Sprintf("observedGeneration %d, Ready=%s %s since %s", newer.ObservedGeneration, newer.Status, newer.Reason,
				clock(newer.LastTransitionTime)), "when is there nothing to change? A new generation is a change, too")
	}
	o.conditions, o.before = result, ready
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
