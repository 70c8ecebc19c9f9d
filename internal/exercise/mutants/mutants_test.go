package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/exercise/manifest"
	"example.com/client-go-workbook/internal/test/testkit"
)

// packageOf parses an answer.
func packageOf(t *testing.T, source string) (*packages, *checked, map[string]string) {
	t.Helper()
	p := testkit.Must(newPackages(t.Context(), nil))(t)
	files := map[string]string{"solution.go": "package exercise\n" + source}
	c, err := p.check("example.com/answers", files)
	if err != nil || len(c.errors) > 0 {
		t.Fatal(err, c.errors)
	}
	return p, c, files
}

// names are those of the mutants that compile.
func names(t *testing.T, source string) (names []string) {
	t.Helper()
	p, c, files := packageOf(t, source)
	for _, d := range c.closure([]string{"Answer"}) {
		for _, m := range c.mutants(d.file, d.decl, d.name) {
			if p.mutate("example.com/answers", files, m) != nil {
				names = append(names, m.name)
			}
		}
	}
	return names
}

func TestOperators(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		want   []string
	}{
		"an error": {
			`import "context"
			func Answer(ctx context.Context, create func(context.Context) error) error {
				if err := create(ctx); err != nil {
					return err
				}
				return nil
			}`,
			[]string{"Answer: err != nil → (err != nil) && false", "Answer: err → nil", "Answer: ctx → context.Background()"},
		},
		"a loop": {
			`func Answer(keys []string) (count int) {
				for _, key := range keys {
					if key != "" && len(key) < 3 {
						count++
					}
				}
				return count
			}`,
			[]string{"Answer: keys → keys[:min(1, len(keys))]", `Answer: key != "" && len(key) < 3 → len(key) < 3`,
				"Answer: len(key) < 3 → len(key) <= 3", "Answer: without count++"},
		},
		"a helper, and a variable that nothing uses any more": {
			`func Answer(m map[string]string) string { return helper(m) }
			func helper(m map[string]string) string {
				copied := m["a"]
				if copied == "x" {
					return copied
				}
				return "y"
			}`,
			[]string{`helper: copied → ""`, `helper: copied == "x" → (copied == "x") || true`},
		},
		"a lock": {
			`import "sync"
			var mu sync.Mutex
			func Answer(f func()) { mu.Lock(); defer mu.Unlock(); f() }`,
			[]string{"Answer: without its locks", "Answer: without f()"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := names(t, test.source)
			for _, want := range test.want {
				if !slices.Contains(got, want) {
					t.Errorf("no mutant %q among\n%s", want, strings.Join(got, "\n"))
				}
			}
		})
	}
}

// TestEmittedNamesAreTheMutantsOwn checks that a mutant's names cannot be those of the grader or of another mutant.
func TestEmittedNamesAreTheMutantsOwn(t *testing.T) {
	_, c, _ := packageOf(t, `import "strings"
		type Answers struct{ F func(string) string }
		type state struct{ seen bool }
		func (s *state) upper(text string) string { s.seen = true; return strings.ToUpper(text) }
		func Answer(text string) string { return (&state{}).upper(text) }`)
	got := c.emit(7, "list_test", "example.com/graders", "example.com/answers",
		element{text: "graders.Answers{F: answers.Answer}", names: []string{"Answer"}})
	for _, want := range []string{
		`strings_m7 "strings"`, "type state_m7 struct{ seen bool }", "func (s *state_m7) upper(text string) string",
		"func Answer_m7(text string) string { return (&state_m7{}).upper(text) }", "var mutant_m7 = graders_m7.Answers{F: Answer_m7}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// TestEachReasonHasAnExercise checks what can be checked of mutants.yaml without running a mutant: that it is one of an
// exercise that exists, and can be read.
func TestEachReasonHasAnExercise(t *testing.T) {
	t.Chdir("../../..")
	exercises := testkit.Must(selected(nil))(t)
	files := testkit.Must(filepath.Glob("internal/exercises/*/answers/*/mutants.yaml"))(t)
	for _, file := range files {
		i := slices.IndexFunc(exercises, func(e manifest.Exercise) bool { return e.Answers() == filepath.Dir(file) })
		if i < 0 {
			t.Errorf("%s belongs to no exercise", file)
			continue
		}
		if _, err := keptMutants(exercises[i]); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestUnknownExercise(t *testing.T) {
	t.Chdir("../../..")
	if _, err := run(context.Background(), options{}, []string{"9.9"}); err == nil || !strings.Contains(err.Error(), "no exercise 9.9") {
		t.Errorf("got %v", err)
	}
}
