package exercise

// The paths of the scale subresource.
const (
	SpecReplicasPath   = ".spec.size.shards"
	StatusReplicasPath = ".status.pods.running"
	LabelSelectorPath  = ".status.pods.selector"
)

// Selector takes one label: any.
func Selector(labels map[string]string) string {
	for name, value := range labels {
		return name + "=" + value
	}
	return ""
}
