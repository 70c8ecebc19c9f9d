package exercise

import (
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TakesANewReasonForATransition sets lastTransitionTime for a new reason, too.
func TakesANewReasonForATransition(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
	ready := newReady(generation, available, desired)
	changed := slices.Clone(conditions)
	for i, condition := range changed {
		if condition.Type == "Ready" {
			if condition.Status == ready.Status && condition.Reason == ready.Reason {
				ready.LastTransitionTime = condition.LastTransitionTime
			}
			changed[i] = ready
			return changed
		}
	}
	return append(changed, ready)
}

// AppendsToTheStoresList adds the first Ready to the list that it was given. If that list's array has room, append writes into it.
func AppendsToTheStoresList(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
	if apimeta.FindStatusCondition(conditions, "Ready") == nil {
		return append(conditions, newReady(generation, available, desired))
	}
	return WithReady(conditions, generation, available, desired)
}

// KeepsAnOldGeneration changes nothing if the status, the reason and the message are as before, although the generation differs.
func KeepsAnOldGeneration(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
	ready := newReady(generation, available, desired)
	old := apimeta.FindStatusCondition(conditions, "Ready")
	if old != nil && old.Status == ready.Status && old.Reason == ready.Reason && old.Message == ready.Message {
		return conditions
	}
	return WithReady(conditions, generation, available, desired)
}

// HasTheTimeInTheMessage says when it has looked: each sync is a change.
func HasTheTimeInTheMessage(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
	changed := WithReady(conditions, generation, available, desired)
	ready := apimeta.FindStatusCondition(changed, "Ready")
	ready.Message += " at " + time.Now().Format(time.TimeOnly)
	return changed
}

// RemembersTheTimeItself keeps the status and its time in variables. There is more than one object.
func RemembersTheTimeItself(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
	ready := newReady(generation, available, desired)
	if ready.Status != lastStatus {
		lastStatus, lastTime = ready.Status, ready.LastTransitionTime
	}
	ready.LastTransitionTime = lastTime
	others := slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type == "Ready" })
	return append(others, ready)
}

var (
	lastStatus metav1.ConditionStatus
	lastTime   metav1.Time
)

// newReady returns the condition Ready, with the time of now.
func newReady(generation int64, available, desired int32) metav1.Condition {
	ready := WithReady(nil, generation, available, desired)[0]
	ready.LastTransitionTime = metav1.Now()
	return ready
}
