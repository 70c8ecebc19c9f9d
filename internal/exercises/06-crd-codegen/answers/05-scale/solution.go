// Package exercise answers "The scale subresource". README.md has the task.
package exercise

import "k8s.io/apimachinery/pkg/labels"

// The paths of the scale subresource, which `+kubebuilder:subresource:scale` has, too.
const (
	SpecReplicasPath   = ".spec.size.shards"
	StatusReplicasPath = ".status.pods.running"
	LabelSelectorPath  = ".status.pods.selector"
)

// Selector returns the label selector, as text, for the pods that have all these labels. FormatLabels sorts them: the same
// labels always give the same text, and a status that has not changed is not written.
func Selector(podLabels map[string]string) string {
	return labels.FormatLabels(podLabels)
}
