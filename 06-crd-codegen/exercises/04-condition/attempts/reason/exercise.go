package exercise

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WithReady takes a new reason for a transition, too.
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
	ready.LastTransitionTime = metav1.Now()
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
