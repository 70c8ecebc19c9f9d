package exercise

// Rules are one rule, which has oldSelf in it.
var Rules = map[string]string{
	"self.maxReplicas >= self.minReplicas && self.engine == oldSelf.engine && " +
		"(!has(oldSelf.volumeSize) || has(self.volumeSize) && self.volumeSize >= oldSelf.volumeSize)": "invalid",
}
