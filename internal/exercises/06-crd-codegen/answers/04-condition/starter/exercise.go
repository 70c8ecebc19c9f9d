// Package exercise answers "Since when a condition has its status". README.md has the task.
package exercise

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WithReady returns the conditions with the condition Ready of an object of that generation brought up to date.
func WithReady(conditions []metav1.Condition, generation int64, available, desired int32) []metav1.Condition {
	// TODO
	return conditions
}
