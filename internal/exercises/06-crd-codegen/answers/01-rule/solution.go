// Package exercise answers "Reject with a rule". README.md has the task.
package exercise

// Rules are the rules of the spec: each CEL expression, and the message for the user whose spec it rejects.
//
// A rule with oldSelf is checked on updates only. So the first one must not be joined with the others: it would not be
// checked when an object is created.
var Rules = map[string]string{
	"self.maxReplicas >= self.minReplicas": "maxReplicas is less than minReplicas",
	"self.engine == oldSelf.engine":        "engine can't be changed",
	// To read a field that is not there is an error, and the server rejects the object. So has comes first.
	"!has(oldSelf.volumeSize) || has(self.volumeSize) && self.volumeSize >= oldSelf.volumeSize": "volumeSize can't shrink or be removed",
}
