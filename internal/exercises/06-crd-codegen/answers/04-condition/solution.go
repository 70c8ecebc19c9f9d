// Package exercise answers "Since when a condition has its status". README.md has the task.
package exercise

import (
	"fmt"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WithReady returns the conditions with the condition Ready of an object of that generation brought up to date.
func WithReady(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
	ready := metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "ReplicasReady",
		Message:            fmt.Sprintf("%d of %d replicas are available", available, desired),
		ObservedGeneration: generation,
	}
	switch {
	case available >= desired:
	case available == 0:
		ready.Status, ready.Reason = metav1.ConditionFalse, "NoPods"
	default:
		ready.Status, ready.Reason = metav1.ConditionFalse, "PodsNotReady"
	}
	changed := slices.Clone(conditions) // SetStatusCondition writes into the list's elements
	// It sets the time if the status differs from the one in the list, and else keeps the time that is there.
	apimeta.SetStatusCondition(&changed, ready)
	return changed
}
