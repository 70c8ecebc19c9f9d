package exercise

// HasOneRuleForAll is one rule, which has oldSelf in it: it cannot be checked when the object is created.
var HasOneRuleForAll = map[string]string{
	"self.maxReplicas >= self.minReplicas && self.engine == oldSelf.engine && " +
		"(!has(oldSelf.volumeSize) || has(self.volumeSize) && self.volumeSize >= oldSelf.volumeSize)": "invalid",
}

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

// LetsVolumeSizeBeRemoved compares volumeSize only if both have it.
var LetsVolumeSizeBeRemoved = map[string]string{
	"self.maxReplicas >= self.minReplicas": "maxReplicas is less than minReplicas",
	"self.engine == oldSelf.engine":        "engine can't be changed",
	"!has(self.volumeSize) || !has(oldSelf.volumeSize) || self.volumeSize >= oldSelf.volumeSize": "volumeSize can't shrink",
}

// HasNoMessages leaves it to the user to read the rules.
var HasNoMessages = map[string]string{
	"self.maxReplicas >= self.minReplicas": "",
	"self.engine == oldSelf.engine":        "",
	"!has(oldSelf.volumeSize) || has(self.volumeSize) && self.volumeSize >= oldSelf.volumeSize": "",
}

// HasOneMessageForAll does not say what is wrong.
var HasOneMessageForAll = map[string]string{
	"self.maxReplicas >= self.minReplicas": "the spec is wrong",
	"self.engine == oldSelf.engine":        "the spec is wrong",
	"!has(oldSelf.volumeSize) || has(self.volumeSize) && self.volumeSize >= oldSelf.volumeSize": "the spec is wrong",
}

// ForbidsOneEngine forbids the change that its author had in mind.
var ForbidsOneEngine = map[string]string{
	"self.maxReplicas >= self.minReplicas":                    "maxReplicas is less than minReplicas",
	"!(oldSelf.engine == 'redis' && self.engine == 'valkey')": "engine can't be changed",
}

// CountsAMissingVolumeSizeAs0 cannot tell a volumeSize of 0 from none: it can be removed.
var CountsAMissingVolumeSizeAs0 = map[string]string{
	"self.maxReplicas >= self.minReplicas": "maxReplicas is less than minReplicas",
	"self.engine == oldSelf.engine":        "engine can't be changed",
	"(has(self.volumeSize) ? self.volumeSize : 0) >= (has(oldSelf.volumeSize) ? oldSelf.volumeSize : 0)": "volumeSize can't shrink",
}
