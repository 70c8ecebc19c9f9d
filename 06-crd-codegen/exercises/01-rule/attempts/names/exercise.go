package exercise

// Rules are written as in Go, with names that CEL does not know.
var Rules = map[string]string{
	"self.maxReplicas >= self.minReplicas": "maxReplicas is less than minReplicas",
	"self.engine == old.engine":            "engine can't be changed",
}
