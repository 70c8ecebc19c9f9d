package exercise

// RejectsByAnError rejects a spec without volumeSize by an error instead of a rule: the user does not get the message.
var RejectsByAnError = map[string]string{
	"self.maxReplicas >= self.minReplicas":                              "maxReplicas is less than minReplicas",
	"self.engine == oldSelf.engine":                                     "engine can't be changed",
	"!has(oldSelf.volumeSize) || self.volumeSize >= oldSelf.volumeSize": "volumeSize can't shrink or be removed",
}

// ReadsAFieldThatCanBeMissing reads volumeSize, which can be left out, and does not ask has first.
var ReadsAFieldThatCanBeMissing = map[string]string{
	"self.maxReplicas >= self.minReplicas":  "maxReplicas is less than minReplicas",
	"self.engine == oldSelf.engine":         "engine can't be changed",
	"self.volumeSize >= oldSelf.volumeSize": "volumeSize can't shrink",
}

// NamesWhatCELDoesNotKnow is written as in Go, with names that CEL does not know.
var NamesWhatCELDoesNotKnow = map[string]string{
	"self.maxReplicas >= self.minReplicas": "maxReplicas is less than minReplicas",
	"self.engine == old.engine":            "engine can't be changed",
}

// HasOneMessageForAll does not say what is wrong.
var HasOneMessageForAll = map[string]string{
	"self.maxReplicas >= self.minReplicas": "the spec is wrong",
	"self.engine == oldSelf.engine":        "the spec is wrong",
	"!has(oldSelf.volumeSize) || has(self.volumeSize) && self.volumeSize >= oldSelf.volumeSize": "the spec is wrong",
}
