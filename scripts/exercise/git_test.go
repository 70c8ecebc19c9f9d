package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Only what git has can come back from it: a workbook can be downloaded without git.
func TestWhatIsMissingAndHowItComesBack(t *testing.T) {
	w := &workbook{root: t.TempDir()}
	e := exercise{ID: "1.1", Folder: filepath.Join("01-list", "exercises", "01-a")}
	write := func(files ...string) {
		for _, file := range files {
			file = filepath.Join(w.root, file)
			_ = os.MkdirAll(filepath.Dir(file), 0o755)
			if err := os.WriteFile(file, []byte("package a\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := filepath.Join(e.Graders(), "doc.go")
	files := []string{e.File(), testFile(e), e.Grader(), e.Starter(), other}
	write(files...)
	check := func(removed, want string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(w.root, removed)); err != nil {
			t.Fatal(err)
		}
		missing, _ := w.compareWithGit(t.Context(), e)
		if missing, _, _ = strings.Cut(missing, " (or any "); missing != want { // how far up, git says in more than one way
			t.Errorf("without %s it says\n%s\nwant\n%s", removed, missing, want)
		}
		write(files...)
	}
	check(".none", "")
	const download = " is missing, and git has none here: fatal: not a git repository"
	check(testFile(e), "01-a/exercise_test.go"+download)
	check(e.Grader(), "01-list/a.go"+download)
	check(e.Answers(), "answers/01-a"+download)

	commit := []string{"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "a"}
	for _, arguments := range [][]string{{"init", "-q"}, {"add", "-A"}, commit} {
		if output, err := exec.Command("git", append([]string{"-C", w.root}, arguments...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", arguments, err, output)
		}
	}
	const comesBack = " is missing. This brings it back:\ngit checkout HEAD "
	check(testFile(e), "01-a/exercise_test.go"+comesBack+testFile(e))
	check(other, "01-list/doc.go"+comesBack+other)
	check(e.Starter(), "starter/exercise.go"+comesBack+e.Starter())
	check(e.Answers(), "answers/01-a"+comesBack+e.Answers())

	if err := os.Chmod(filepath.Join(w.root, testFile(e)), 0o755); err != nil { // as on a file system without modes
		t.Fatal(err)
	}
	if missing, another := w.compareWithGit(t.Context(), e); missing+another != "" {
		t.Errorf("with another mode it says %q is missing, %q is another", missing, another)
	}
}
