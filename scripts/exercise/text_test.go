package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestTaskTextIsWrappedAnew(t *testing.T) {
	const readme = "# 1.1 A title\n\nThe first line\nand the second of [a file](exercise.go),\nand the third one.\n\n**Done when** it\n\n" +
		"- is one,\n  and goes on;\n- is two.\n\n```go\nf()\ng()\n```\nThe end\nis here.\n"
	want := strings.Join([]string{
		"The first line and the second of a file,", "and the third one.", "", "Done when it", "",
		"- is one, and goes on;", "- is two.", "", "```go", "f()", "g()", "```", "The end is here.",
	}, "\n")
	if got := ansi.Strip(taskText(readme, 40)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNoLineBreaksAtAHyphen(t *testing.T) {
	const want = "the file is in\nk8s.io/client-go/tools/cache"
	if got := paragraph("the file is in k8s.io/client-go/tools/cache", 32); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCompilerLinesAreFive(t *testing.T) {
	e := exercise{Folder: "01-list/exercises/01-a"}
	printed := "# example.com/client-go-workbook/01-list/exercises/01-a\n"
	for range 12 {
		printed += "01-list/exercises/01-a/exercise.go:7:2: undefined: x\n\thave (int)\n"
	}
	got := compilerLines(e, printed+"FAIL\texample.com/client-go-workbook/01-list/exercises/01-a [build failed]\nFAIL\n")
	const first, second = "exercise.go:7:2: undefined: x", "    have (int)"
	want := []string{first, second, first, second, "... and 20 more lines"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCompilerLinesSayWhatToDo(t *testing.T) {
	e := exercise{Folder: "01-list/exercises/01-a"}
	const lines = "01-list/exercises/01-a/exercise_test.go:7:2: undefined: exercise.X\n"
	for printed, want := range map[string]bool{
		strings.Repeat(lines, 12): true,
		"found packages exercise (exercise.go) and main (helper.go) in /wb\n": false,
	} {
		got := compilerLines(e, printed)
		if last := got[len(got)-1]; strings.HasPrefix(last, "The grader cannot use your answer") != want || len(got) > 5 {
			t.Errorf("%q", got)
		}
	}
}
