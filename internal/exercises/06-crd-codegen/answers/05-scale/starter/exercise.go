// Package exercise answers "The scale subresource". README.md has the task.
package exercise

// The paths of the scale subresource, which `+kubebuilder:subresource:scale` has, too.
const (
	SpecReplicasPath   = ".spec.replicas"   // TODO: how many are desired
	StatusReplicasPath = ".status.replicas" // TODO: how many there are
	LabelSelectorPath  = ""                 // TODO: which pods they are
)

// Selector returns the label selector, as text, for the pods that have all these labels.
func Selector(labels map[string]string) string {
	// TODO
	return ""
}
