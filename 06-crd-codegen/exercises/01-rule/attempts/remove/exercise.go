package exercise

// Rules compare volumeSize only if both have it.
var Rules = map[string]string{
	"self.maxReplicas >= self.minReplicas": "maxReplicas is less than minReplicas",
	"self.engine == oldSelf.engine":        "engine can't be changed",
	"!has(self.volumeSize) || !has(oldSelf.volumeSize) || self.volumeSize >= oldSelf.volumeSize": "volumeSize can't shrink",
}
