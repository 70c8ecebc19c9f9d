package exercise

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LooksForTheOldTime looks for the time in the old list itself, and builds a new one.
func LooksForTheOldTime(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
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
	var others []metav1.Condition
	for _, condition := range conditions {
		switch {
		case condition.Type != "Ready":
			others = append(others, condition)
		case condition.Status == ready.Status:
			ready.LastTransitionTime = condition.LastTransitionTime
		}
	}
	return append(others, ready)
}
