package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// compareWithGit looks at the files that an exercise needs. It returns a line about one that is missing, and a file of the
// grader that is another than in the last commit. Without git it knows only whether exercise.go is there.
func (w *workbook) compareWithGit(ctx context.Context, e exercise) (missing, another string) {
	if _, err := os.Stat(filepath.Join(w.root, e.File())); os.IsNotExist(err) {
		return fmt.Sprintf("exercise.go is missing: make reset %s brings it back", e.ID), ""
	}
	var said bytes.Buffer
	diff := command(ctx, syscall.SIGKILL, "git", "--no-optional-locks", "diff", "--name-status", "--no-renames", "--relative",
		"-z", "HEAD", "--", e.Folder, e.Starter(), ":(glob)"+filepath.ToSlash(e.Graders())+"/*.go")
	diff.Dir, diff.Env, diff.Stdout = w.root, environment(), &said
	_ = runGroup(diff) // without git it prints nothing
	var deleted []string
	words := strings.Split(said.String(), "\x00") // a letter and a file in turn
	for i := 0; i+1 < len(words); i += 2 {
		switch file := filepath.FromSlash(words[i+1]); {
		case file == e.File(), filepath.Ext(file) == ".md", file != testFile(e) && strings.HasSuffix(file, "_test.go"):
		case words[i] == "D":
			deleted = append(deleted, file)
		case file == testFile(e) || file == e.Grader():
			another = file
		}
	}
	if len(deleted) == 0 {
		return "", another
	}
	file := deleted[0]
	switch { // nothing is the learner's in other folders
	case filepath.Dir(file) == e.Folder:
	case len(deleted) > 1:
		file = e.Graders()
	case file == e.Starter():
		file = e.Answers()
	}
	return isMissing(file), ""
}

// testFile returns the path of the test that calls an exercise's grader, from the workbook's root.
func testFile(e exercise) string { return filepath.Join(e.Folder, "exercise_test.go") }

// isMissing says how a file of the workbook comes back.
func isMissing(file string) string {
	name := filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
	return name + " is missing. This brings it back:\n" + comesBack(file)
}

// comesBack is the command that makes a file the last commit's.
func comesBack(file string) string { return "git checkout HEAD " + file }
