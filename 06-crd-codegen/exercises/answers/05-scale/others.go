package exercise

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer is what exercise.go has.
type Answer struct {
	SpecReplicasPath, StatusReplicasPath, LabelSelectorPath string

	Selector func(labels map[string]string) string
}

// TakesTheWayOfADeployment takes the way of a Deployment's selector.
var TakesTheWayOfADeployment = Answer{SpecReplicasPath, StatusReplicasPath, LabelSelectorPath,
	func(labels map[string]string) string {
		return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
	}}
