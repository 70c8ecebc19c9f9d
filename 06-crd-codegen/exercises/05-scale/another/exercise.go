package exercise

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The paths of the scale subresource.
const (
	SpecReplicasPath   = ".spec.size.shards"
	StatusReplicasPath = ".status.pods.running"
	LabelSelectorPath  = ".status.pods.selector"
)

// Selector takes the way of a Deployment's selector.
func Selector(labels map[string]string) string {
	return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
}
