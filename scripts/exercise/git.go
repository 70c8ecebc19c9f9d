package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// compareWithGit looks at the files that an exercise needs. It returns a line about one that is missing, and a file of the
// grader that is another than in the last commit.
func (w *workbook) compareWithGit(ctx context.Context, e exercise) (missing, another string) {
	if !w.has(e.File()) {
		return fmt.Sprintf("exercise.go is missing: make reset %s brings it back", e.ID), ""
	}
	var said bytes.Buffer
	diff := command(ctx, syscall.SIGKILL, "git", "-c", "core.fileMode=false", "--no-optional-locks", "diff", "--name-status",
		"--no-renames", "--relative", "-z", "HEAD", "--", e.Folder, e.Starter(), ":(glob)"+filepath.ToSlash(e.Graders())+"/*.go")
	diff.Dir, diff.Env, diff.Stdout = w.root, environment(), &said
	_ = runGroup(diff) // without git it prints nothing
	needed := []string{testFile(e), e.Grader(), e.Starter()}
	words := strings.Split(said.String(), "\x00") // a letter and a file in turn
	for i := 0; i+1 < len(words); i += 2 {
		switch file := filepath.FromSlash(words[i+1]); {
		case file == e.File(), filepath.Ext(file) == ".md", file != testFile(e) && strings.HasSuffix(file, "_test.go"):
		case words[i] == "D":
			needed = append(needed, file)
		case file == testFile(e) || file == e.Grader():
			another = file
		}
	}
	for _, file := range needed {
		if !w.has(file) {
			return w.isMissing(file), another
		}
	}
	return "", another
}

// has says whether a file or folder is there, as far as one can see.
func (w *workbook) has(file string) bool {
	_, err := os.Stat(filepath.Join(w.root, file))
	return !os.IsNotExist(err)
}

// testFile returns the path of the test that calls an exercise's grader, from the workbook's root.
func testFile(e exercise) string { return filepath.Join(e.Folder, "exercise_test.go") }

// isMissing says how a file of the workbook comes back, with its folder if that is missing, too.
func (w *workbook) isMissing(file string) string {
	for folder := filepath.Dir(file); !w.has(folder); folder = filepath.Dir(folder) {
		file = folder
	}
	name := filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)) + " is missing"
	is := command(context.Background(), syscall.SIGKILL, "git", "cat-file", "-e", "HEAD:./"+filepath.ToSlash(file))
	var said bytes.Buffer
	is.Dir, is.Env, is.Stderr = w.root, environment(), &said
	if err := runGroup(is); err != nil { // a download without git, for example
		why, _, _ := strings.Cut(cmp.Or(said.String(), err.Error()), "\n")
		return name + ", and git has none here: " + why + ".\nCure that, or download the workbook again."
	}
	return name + ". This brings it back:\n" + comesBack(file)
}

// comesBack is the command that makes a file the last commit's.
func comesBack(file string) string { return "git checkout HEAD " + file }

// isStarter says whether the learner has not begun.
func (w *workbook) isStarter(e exercise) (bool, error) {
	if !w.has(e.Starter()) {
		return false, errors.New(w.isMissing(e.Starter()))
	}
	return e.IsStarter(w.root)
}
