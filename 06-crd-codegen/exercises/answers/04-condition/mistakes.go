package exercise

import (
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TakesTheTimeOfEachSync sets lastTransitionTime at each sync.
func TakesTheTimeOfEachSync(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
	result := []metav1.Condition{newReady(generation, available, desired)}
	for _, condition := range conditions {
		if condition.Type != "Ready" {
			result = append(result, condition)
		}
	}
	return result
}

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

// AddsOneMoreCondition adds a condition each time.
func AddsOneMoreCondition(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
	return append(slices.Clip(conditions), newReady(generation, available, desired))
}

// ChangesTheStoresList sets the condition in the list that it was given.
func ChangesTheStoresList(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
	apimeta.SetStatusCondition(&conditions, newReady(generation, available, desired))
	return conditions
}

// newReady returns the condition Ready, with the time of now.
func newReady(generation int64, available, desired int32) metav1.Condition {
	ready := WithReady(nil, generation, available, desired)[0]
	ready.LastTransitionTime = metav1.Now()
	return ready
}
