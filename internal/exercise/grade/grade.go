// Package grade grades the exercises.
//
// An [Exercise] is a grader: [Exercise.Test] grades the learner's answer, the others test the grader with answers. An answer is
// graded in a process of its own (the test binary, started again for this test), so that one that panics, loops without end, ends
// the program or prints a megabyte becomes a verdict of a few lines, too. The grader itself is a function that judges the outcome:
// what the server holds, which requests were sent, what was returned. It uses [T] as a testing.TB.
package grade

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/client-go-workbook/internal/exercise/manifest"
	"example.com/client-go-workbook/internal/test/testkit"
)

// Exercise is the grader of an exercise. F is the answer's type, a function mostly.
type Exercise[F any] struct {
	// Timeout is the time in which an answer must be graded; 30 seconds if it is zero. Only time that the machine gives it counts.
	Timeout time.Duration
	// Cluster means that an answer needs the API server. go test then must not repeat a result that came from an earlier cluster.
	Cluster bool
	// Grade judges an answer. It returns if the answer is accepted, and calls [T.Reject] if not. The environment variable
	// KUBE_CACHE_MUTATION_DETECTOR is true there.
	Grade func(t *T, answer F)
}

const (
	// answerVar is the environment variable that makes a test grade its answer itself.
	answerVar = "WORKBOOK_ANSWER"
	// verdictVar is the environment variable that names the file for the learner's verdict.
	verdictVar = "WORKBOOK_VERDICT"
)

// Test grades the learner's answer. While exercise.go is untouched it skips, unless a verdict is asked for with
// WORKBOOK_VERDICT=FILE, a file that gets it as JSON (manifest.Verdict).
func (e Exercise[F]) Test(t *testing.T, learner F) {
	t.Helper()
	file := os.Getenv(verdictVar)
	if file == "" && os.Getenv(answerVar) == "" && isStarter(t) {
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

// RejectsStarter tests that the grader rejects what the learner begins with.
func (e Exercise[F]) RejectsStarter(t *testing.T, starter F) {
	e.tests(t, "starter", func(t *testing.T) { e.rejects(t, starter, "") })
}

// Accepts tests that the grader accepts correct answers, at least two of different shape.
func (e Exercise[F]) Accepts(t *testing.T, answers ...F) {
	if len(answers) < 2 {
		t.Error("a grader is tested with two correct answers")
	}
	for i, answer := range answers {
		e.tests(t, fmt.Sprintf("accepted-%d", i+1), func(t *testing.T) {
			if verdict := e.graded(t, answer); !verdict.Broken && !verdict.Passed {
				t.Error("a correct answer is rejected")
			}
		})
	}
}

// Rejects tests that the grader rejects a mistake that learners make. The name says the mistake: "takes the first page only". The
// verdict has these words.
func (e Exercise[F]) Rejects(t *testing.T, name string, answer F, says string) {
	e.tests(t, strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
		testkit.All(t, "grades a wrong answer")
		e.rejects(t, answer, says)
	})
}

func (e Exercise[F]) rejects(t *testing.T, answer F, says string) {
	t.Helper()
	switch verdict := e.graded(t, answer); {
	case verdict.Broken:
	case verdict.Passed:
		t.Error("a wrong answer is accepted")
	case !strings.Contains(verdict.String(), says):
		t.Errorf("the verdict does not say %q", says)
	case strings.Count(verdict.String(), "\n") > 5:
		t.Error("the verdict has more than five lines")
	}
}

// tests runs a test beside the others, or alone in the process of its answer.
func (e Exercise[F]) tests(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		if os.Getenv(answerVar) == "" {
			t.Parallel()
		}
		test(t)
	})
}

// graded returns the verdict, and prints it.
func (e Exercise[F]) graded(t *testing.T, answer F) manifest.Verdict {
	t.Helper()
	begin := time.Now()
	verdict := e.run(t, answer)
	t.Logf("%s\n%s", time.Since(begin).Round(time.Millisecond), verdict)
	if verdict.Broken {
		t.Error("the grader has failed, not the answer")
	}
	return verdict
}

// isStarter says whether exercise.go is as it was in the beginning. A test runs in its package's folder.
func isStarter(t *testing.T) bool {
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(folder, "..", "..", "..")
	name, err := filepath.Rel(root, folder)
	if err != nil {
		t.Fatal(err)
	}
	is, err := manifest.Exercise{Folder: name}.IsStarter(root)
	if err != nil {
		t.Fatal(err)
	}
	return is
}
