package exercise

import "encoding/json"

// The paths of the scale subresource.
const (
	SpecReplicasPath   = ".spec.size.shards"
	StatusReplicasPath = ".status.pods.running"
	LabelSelectorPath  = ".status.pods.selector"
)

// Selector writes the labels as JSON.
func Selector(labels map[string]string) string {
	text, _ := json.Marshal(labels)
	return string(text)
}
