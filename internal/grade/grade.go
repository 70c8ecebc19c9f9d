// Package grade grades the exercises.
//
// An [Exercise] is a grader and the answers that it is tested with. An answer is graded in a process of its own (the
// test binary, started again), so that one that panics, loops without end, ends the program or prints a megabyte becomes
// a verdict of a few lines, too. The grader itself is a function that judges the outcome: what the server holds, which
// requests were sent, what was returned. It uses [T] as a testing.TB.
package grade

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Exercise is the grader of an exercise and the answers that it is tested with. F is the answer's type, a function
// mostly.
type Exercise[F any] struct {
	// Learner is the answer in exercise.go.
	Learner F
	// Starter is what exercise.go holds at first. It must be rejected.
	Starter F
	// Accepted are correct answers, at least two of different shape.
	Accepted []F
	// Rejected are mistakes that learners make.
	Rejected []Rejected[F]
	// Timeout is the time in which an answer must be graded; 30 seconds if it is zero, and four times that in CI, where
	// several run at once.
	Timeout time.Duration
	// Grade judges an answer. It returns if the answer is accepted, and calls [T.Reject] if not. The environment variable
	// KUBE_CACHE_MUTATION_DETECTOR is true there.
	Grade func(t *T, answer F)
}

// Rejected is an answer with a mistake.
type Rejected[F any] struct {
	// Name says the mistake: "takes the first page only".
	Name   string
	Answer F
	// Says is a part of the verdict.
	Says string
}

const (
	// answerVar is the environment variable that makes a test binary grade one answer: its name.
	answerVar = "WORKBOOK_ANSWER"
	// verdictVar is the environment variable that names the file for the learner's verdict.
	verdictVar = "WORKBOOK_VERDICT"
)

// Test grades the learner's answer. While exercise.go is untouched it skips, unless a verdict is asked for with
// WORKBOOK_VERDICT=FILE, a file that gets it as JSON (Verdict of package exercises).
func (e Exercise[F]) Test(t *testing.T) {
	t.Helper()
	if name := os.Getenv(answerVar); name != "" {
		e.child(t, name)
	}
	file := os.Getenv(verdictVar)
	if file == "" && untouched(t) {
		t.Skip("not begun yet: README.md beside this file has the task, and exercise.go waits for your answer")
	}
	verdict := e.run(t, "learner")
	if file != "" {
		text, err := json.Marshal(verdict)
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !verdict.Passed {
		t.Error("\n" + verdict.String())
	}
}

// TestGrader tests the grader: the starter and each mistake are rejected, each correct answer is accepted.
func (e Exercise[F]) TestGrader(t *testing.T) {
	if len(e.Accepted) < 2 || len(e.Rejected) < 3 {
		t.Fatalf("%d correct answers and %d mistakes: a grader is tested with 2 and 3", len(e.Accepted), len(e.Rejected))
	}
	for name := range e.answers() {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			verdict := e.run(t, name)
			t.Logf("%s\n%s", time.Since(begin).Round(time.Millisecond), verdict)
			switch says, isMistake := e.says(name); {
			case verdict.Broken:
				t.Error("the grader has failed, not the answer")
			case strings.HasPrefix(name, "accepted"):
				if !verdict.Passed {
					t.Error("a correct answer is rejected")
				}
			case verdict.Passed:
				t.Error("a wrong answer is accepted")
			case isMistake && !strings.Contains(verdict.String(), says):
				t.Errorf("the verdict does not say %q", says)
			case strings.Count(verdict.String(), "\n") > 5:
				t.Error("the verdict has more than five lines")
			}
		})
	}
}

// answers returns all answers by name.
func (e Exercise[F]) answers() map[string]F {
	answers := map[string]F{"starter": e.Starter}
	for i, answer := range e.Accepted {
		answers["accepted "+string(rune('1'+i))] = answer
	}
	for _, rejected := range e.Rejected {
		answers[rejected.Name] = rejected.Answer
	}
	return answers
}

func (e Exercise[F]) says(name string) (string, bool) {
	for _, rejected := range e.Rejected {
		if rejected.Name == name {
			return rejected.Says, true
		}
	}
	return "", false
}

func (e Exercise[F]) timeout() time.Duration {
	timeout := e.Timeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	if os.Getenv("CI") != "" {
		timeout *= 4
	}
	return timeout
}

// untouched says whether exercise.go is as it was.
func untouched(t *testing.T) bool {
	now, err := os.ReadFile("exercise.go")
	if err != nil {
		t.Fatal(err)
	}
	starter, err := os.ReadFile(filepath.Join("starter", "exercise.go"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(now, starter)
}
