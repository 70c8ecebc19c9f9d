// Package grade grades the exercises.
//
// An [Exercise] is a grader and the answers that it is tested with. An answer is graded in a process of its own (the
// test binary, started again), so that one that panics, loops without end, ends the program or prints a megabyte becomes
// a verdict of a few lines, too. The grader itself is a function that judges the outcome: what the server holds, which
// requests were sent, what was returned. It uses [T] as a testing.TB.
package grade

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

// Exercise is the grader of an exercise and the answers that it is tested with. F is the answer's type, a function
// mostly.
type Exercise[F any] struct {
	// Learner is the answer in exercise.go. As long as that is the starter, it must be rejected.
	Learner F
	// Accepted are correct answers, at least two of different shape.
	Accepted []F
	// Rejected are mistakes that learners make.
	Rejected []Rejected[F]
	// Timeout is the time in which an answer must be graded; 30 seconds if it is zero, and four times that in CI, where
	// several run at once. So it is for correct answers everywhere: on a busy machine they take long, and end by themselves.
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

	// The answer in exercise.go has two names. With the second, it is known to be the starter.
	learner = "learner"
	starter = "starter"
)

// Test grades the learner's answer. While exercise.go is untouched it skips, unless a verdict is asked for with
// WORKBOOK_VERDICT=FILE, a file that gets it as JSON (manifest.Verdict).
func (e Exercise[F]) Test(t *testing.T) {
	t.Helper()
	if name := os.Getenv(answerVar); name != "" {
		e.child(t, name)
	}
	file := os.Getenv(verdictVar)
	if file == "" && isStarter(t) {
		t.Skip("not begun yet: README.md beside this file has the task, and exercise.go waits for your answer")
	}
	verdict := e.run(t, learner)
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

// TestGrader tests the grader: the starter and each mistake are rejected, each correct answer is accepted. The starter is
// compiled only as exercise.go: where that file has the learner's answer, the starter is not tested. With -short, only the correct
// answers are graded.
func (e Exercise[F]) TestGrader(t *testing.T) {
	if len(e.Accepted) < 2 || len(e.Rejected) < 3 {
		t.Fatalf("%d correct answers and %d mistakes: a grader is tested with 2 and 3", len(e.Accepted), len(e.Rejected))
	}
	names := map[string]bool{}
	for _, c := range e.candidates() {
		if names[c.Name] {
			t.Errorf("two answers have the name %q", c.Name)
		}
		names[c.Name] = true
		t.Run(strings.ReplaceAll(c.Name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !c.correct {
				t.Skip("is rejected: not with -short")
			}
			if c.Name == starter && !isStarter(t) {
				t.Skip("exercise.go is not the starter any more")
			}
			begin := time.Now()
			verdict := e.run(t, c.Name)
			t.Logf("%s\n%s", time.Since(begin).Round(time.Millisecond), verdict)
			switch {
			case verdict.Broken:
				t.Error("the grader has failed, not the answer")
			case c.correct && !verdict.Passed:
				t.Error("a correct answer is rejected")
			case !c.correct && verdict.Passed:
				t.Error("a wrong answer is accepted")
			case !strings.Contains(verdict.String(), c.Says):
				t.Errorf("the verdict does not say %q", c.Says)
			case strings.Count(verdict.String(), "\n") > 5:
				t.Error("the verdict has more than five lines")
			}
		})
	}
}

// accepted is how the names of correct answers begin.
const accepted = "accepted "

// candidate is an answer that the grader is tested with.
type candidate[F any] struct {
	Rejected[F]
	correct bool
}

func (e Exercise[F]) candidates() []candidate[F] {
	candidates := []candidate[F]{{Rejected: Rejected[F]{Name: starter, Answer: e.Learner}}}
	for i, answer := range e.Accepted {
		candidates = append(candidates, candidate[F]{Rejected[F]{Name: fmt.Sprintf("%s%d", accepted, i+1), Answer: answer}, true})
	}
	for _, rejected := range e.Rejected {
		candidates = append(candidates, candidate[F]{Rejected: rejected})
	}
	return candidates
}

// answer returns the answer with a name.
func (e Exercise[F]) answer(t *testing.T, name string) F {
	t.Helper()
	if name == learner {
		return e.Learner
	}
	for _, c := range e.candidates() {
		if c.Name == name {
			return c.Answer
		}
	}
	t.Fatalf("no answer %q", name)
	return e.Learner // not reached
}

func (e Exercise[F]) timeout(name string) time.Duration {
	timeout := e.Timeout
	if timeout == 0 {
		timeout = 30 * time.Second
	}
	if os.Getenv("CI") != "" || strings.HasPrefix(name, accepted) {
		timeout *= 4
	}
	return timeout
}

// isStarter says whether exercise.go is as it was in the beginning.
func isStarter(t *testing.T) bool {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	is, err := manifest.Exercise{Folder: folder}.IsStarter("")
	if err != nil {
		t.Fatal(err)
	}
	return is
}
