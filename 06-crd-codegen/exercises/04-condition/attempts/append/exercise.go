package exercise

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WithReady adds a condition each time.
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
	return append(conditions[:len(conditions):len(conditions)], ready)
}
