package exercise

// Rules reject a spec without volumeSize by an error instead of a rule: the user does not get the message.
var Rules = map[string]string{
	"self.maxReplicas >= self.minReplicas":                              "maxReplicas is less than minReplicas",
	"self.engine == oldSelf.engine":                                     "engine can't be changed",
	"!has(oldSelf.volumeSize) || self.volumeSize >= oldSelf.volumeSize": "volumeSize can't shrink or be removed",
}
