package exercise

// Rules read a field that can be missing.
var Rules = map[string]string{
	"self.maxReplicas >= self.minReplicas":  "maxReplicas is less than minReplicas",
	"self.engine == oldSelf.engine":         "engine can't be changed",
	"self.volumeSize >= oldSelf.volumeSize": "volumeSize can't shrink",
}
