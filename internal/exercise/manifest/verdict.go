package manifest

import "strings"

// Verdict is what a grader says of an answer. Each text is one line.
type Verdict struct {
	Passed bool `json:"passed"`
	// Expected, Seen and Look say what an answer was expected to do, what it did, and where to look.
	Expected string `json:"expected,omitempty"`
	Seen     string `json:"seen,omitempty"`
	Look     string `json:"look,omitempty"`
	// Broken means that the grader has failed, not the answer: Seen says how. Skipped: for want of a cluster. Busy: the machine has
	// not given the answer its time.
	Broken  bool `json:"broken,omitempty"`
	Skipped bool `json:"skipped,omitempty"`
	Busy    bool `json:"busy,omitempty"`
	// Printed are the first lines that the answer has printed itself.
	Printed []string `json:"printed,omitempty"`
}

// String returns the verdict as a learner reads it, in at most five lines.
func (v Verdict) String() string {
	switch {
	case v.Passed:
		return "passed\n"
	case v.Broken:
		return "not graded: " + v.Seen + "\n"
	}
	var b strings.Builder
	for _, line := range [][2]string{{"expected", v.Expected}, {"seen", v.Seen}, {"look at", v.Look}} {
		if line[1] != "" {
			b.WriteString(line[0] + strings.Repeat(" ", 10-len(line[0])) + strings.Join(strings.Fields(line[1]), " ") + "\n")
		}
	}
	return b.String()
}
