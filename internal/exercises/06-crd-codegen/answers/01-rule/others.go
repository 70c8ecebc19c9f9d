package exercise

// AsksInAnotherWay asks in another way.
var AsksInAnotherWay = map[string]string{
	"!(self.minReplicas > self.maxReplicas)":                "maxReplicas is less than minReplicas",
	"[self.engine] == [oldSelf.engine]":                     "engine can't be changed",
	"has(oldSelf.volumeSize) ? has(self.volumeSize) : true": "volumeSize can't be removed",
	"has(self.volumeSize) && has(oldSelf.volumeSize) ? " +
		"self.volumeSize >= oldSelf.volumeSize : true": "volumeSize can't shrink",
}
