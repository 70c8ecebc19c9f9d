package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAGraderThatDoesNotBegin(t *testing.T) {
	e := exercise{ID: "1.1", Folder: "01-list/exercises/01-a"}
	const trace = `goroutine 1 [running]:
m.init.0()
	/wb/01-list/exercises/01-a/exercise_test.go:3 +0x1
	/wb/01-list/exercises/01-a/exercise.go:9 +0x1
`
	for name, test := range map[string]struct{ script, want string }{
		"a loop": {
			"trap 'echo \"$TRACE\" >&2; exit 2' QUIT; while :; do :; done",
			"init() or a package variable does not end (exercise.go:9)",
		},
		"a wait": {
			"trap 'echo \"${TRACE/running/select}\" >&2; exit 2' QUIT; sleep 9 >/dev/null 2>&1 & wait",
			"init() or a package variable does not end (exercise.go:9)",
		},
		"a machine without time for it": {
			"trap 'echo \"$TRACE\" >&2; exit 2' QUIT; sleep 9 >/dev/null 2>&1 & wait",
			"the machine was too busy: in 2s its grader got 0s",
		},
		"a panic": {
			"echo 'panic: boom'; echo \"$TRACE\"; exit 2",
			"panic: boom (exercise.go:9), in init() or a package variable",
		},
		"a late panic": {
			"echo '=== RUN   TestExercise'; echo 'panic: boom'; echo \"$TRACE\"; exit 2",
			"panic: boom (exercise.go:9)",
		},
		"an exit":      {"exit 0", "init() or a package variable ends the program, with exit status 0 (exercise.go:4)"},
		"the grader's": {"echo '=== RUN   TestExercise'; echo 'panic: boom'; exit 2", ""},
		"no tests":     {"echo 'testing: warning: no tests to run'; exit 0", ""},
		"a slow answer": {
			"printf 'x=== RUN   TestExercise\\n'; sleep 3; echo '{\"seen\":\"slow\"}' > \"$WORKBOOK_VERDICT\"",
			"slow",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &workbook{root: t.TempDir(), toBegin: 2 * time.Second}
			files := map[string]string{
				filepath.Join(w.root, e.File()):  "package a\n\nfunc init() {\n\tos.Exit(0)\n}\n",
				filepath.Join(w.root, "program"): "#!/bin/bash\nTRACE='" + trace + "'\n" + test.script + "\n",
			}
			for name, text := range files {
				_ = os.MkdirAll(filepath.Dir(name), 0o755)
				if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Parallel() // When all are written: a child that is forked meanwhile would have one open ("text file busy").
			verdict, err := w.runGrader(context.Background(), e, filepath.Join(w.root, "program"))
			switch {
			case test.want == "" && (err == nil || !strings.Contains(err.Error(), "1.1 cannot be graded")):
				t.Errorf("verdict %v, error %v", verdict, err)
			case test.want != "" && (err != nil || verdict.Seen != test.want):
				t.Errorf("verdict %v, error %v, want %q", verdict, err, test.want)
			}
		})
	}
}

// A folder for temporary files can forbid that programs run in it.
func TestAGraderThatMayNotRun(t *testing.T) {
	program := filepath.Join(t.TempDir(), "grader")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &workbook{root: t.TempDir(), toBegin: time.Minute}
	_, err := w.runGrader(t.Context(), exercise{ID: "1.1", Folder: "."}, program)
	if want := "1.1 cannot be graded: fork/exec " + program + ": permission denied"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
