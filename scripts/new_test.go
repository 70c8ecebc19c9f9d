package scripts_test

import (
	"path/filepath"
	"testing"
)

// TestNewRefuses has what no controller can begin with. internal/conformance tries one that make new has begun.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	root := exerciseWorkbook(t)
	write(t, filepath.Join(root, "mine", "cache", "mine.go"), "mine")
	for _, test := range []struct{ kind, variable, want string }{
		{"", "", "A kind is two to forty letters and digits, the first one a capital letter: make new Cache.\n"},
		{"cache", "", "cache is no kind. A kind is two to forty letters"},
		{"X", "", "X is no kind. A kind is two to forty letters"},
		{"A-b", "", "A-b is no kind. A kind is two to forty letters"},
		{"Map", "", "Choose another kind: map has another meaning in the program.\n"},
		{"Deployment", "", "Choose another kind: deployment has another meaning in the program.\n"},
		{"Cache", "GROUP=example", "GROUP=example is no domain, such as example.com.\n"},
		{"Cache", "GROUP=Example.com", "GROUP=Example.com is no domain, such as example.com.\n"},
		{"Cache", "GROUP=a.k8s.io", "GROUP=a.k8s.io belongs to Kubernetes: choose another domain.\n"},
		{"Cache", "", "mine/cache is there already: move it away, or choose another FOLDER.\n"},
		{"Cache", "FOLDER=mine/", "mine is there already: move it away, or choose another FOLDER.\n"},
	} {
		arguments := []string{"new"}
		for _, argument := range []string{test.kind, test.variable} {
			if argument != "" {
				arguments = append(arguments, argument)
			}
		}
		contains(t, makeIn(t, root, arguments...), 2, test.want)
	}
	contains(t, makeIn(t, root, "new", "A", "b"), 2, "make new takes one word, a kind: make new Cache.")
}
