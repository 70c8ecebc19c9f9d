package exercise

import "k8s.io/apimachinery/pkg/labels"

// The paths of the scale subresource.
const (
	SpecReplicasPath   = ".spec.size.shards"
	StatusReplicasPath = ".status.pods.running"
	LabelSelectorPath  = ""
)

// Selector is never read.
func Selector(podLabels map[string]string) string { return labels.FormatLabels(podLabels) }
