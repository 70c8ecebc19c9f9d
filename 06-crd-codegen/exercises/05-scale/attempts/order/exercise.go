package exercise

import "strings"

// The paths of the scale subresource, which `+kubebuilder:subresource:scale` has, too.
const (
	SpecReplicasPath   = ".spec.size.shards"
	StatusReplicasPath = ".status.pods.running"
	LabelSelectorPath  = ".status.pods.selector"
)

// Selector has the labels in the order of the map, which is another one each time.
func Selector(podLabels map[string]string) string {
	var terms []string
	for key, value := range podLabels {
		terms = append(terms, key+"="+value)
	}
	return strings.Join(terms, ",")
}
