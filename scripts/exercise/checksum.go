package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// checksum is one of all files that a verdict depends on: the answer, the grader, the packages of this module that they
// import, and go.mod, which has the versions of all other modules.
func (w *workbook) checksum(e exercise) (string, error) {
	all, folders := []string{"go.mod"}, []string{e.Folder}
	for i := 0; i < len(folders); i++ {
		// An exercise may have folders of data; other packages are one folder each.
		names, err := w.files(folders[i], i == 0)
		if err != nil {
			return "", err
		}
		all = append(all, names...)
		for _, name := range names {
			for _, folder := range w.imports(name) {
				if !slices.Contains(folders, folder) {
					folders = append(folders, folder)
				}
			}
		}
	}
	return w.sum(all)
}

// answerChecksum is one of the learner's files.
func (w *workbook) answerChecksum(e exercise) (string, error) {
	names, err := w.files(e.Folder, true)
	if err != nil {
		return "", err
	}
	return w.sum(slices.DeleteFunc(names, func(name string) bool { return !isAnswer(e, name) }))
}

func (w *workbook) sum(names []string) (string, error) {
	sum := sha256.New()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(w.root, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", filepath.ToSlash(name), len(data), data)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// isAnswer reports whether a file is the learner's: exercise.go, or one that they have put beside it.
func isAnswer(e exercise, name string) bool {
	return filepath.Dir(name) == e.Folder && filepath.Ext(name) == ".go" && name != testFile(e)
}

// files returns the files of a folder that can decide a verdict: no tests of other packages, no texts, no kept answers.
func (w *workbook) files(folder string, whole bool) (names []string, err error) {
	err = filepath.WalkDir(filepath.Join(w.root, folder), func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(w.root, path)
		base := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && !whole && name != folder:
			return fs.SkipDir
		case !entry.Type().IsRegular(), strings.HasPrefix(base, "."), strings.HasSuffix(base, ".md"),
			strings.Contains(base, ".go."), strings.HasSuffix(base, "~"), !whole && strings.HasSuffix(base, "_test.go"):
			return nil
		}
		names = append(names, name)
		return nil
	})
	return names, err
}

// imports returns the folders of the packages of this module that a Go file imports. What cannot be parsed imports nothing:
// it does not compile either.
func (w *workbook) imports(name string) (folders []string) {
	if filepath.Ext(name) != ".go" {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(w.root, name), nil, parser.ImportsOnly)
	if err != nil {
		return nil
	}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if folder, ok := strings.CutPrefix(path, w.module+"/"); ok {
			folder = filepath.FromSlash(folder)
			if info, err := os.Stat(filepath.Join(w.root, folder)); err == nil && info.IsDir() {
				folders = append(folders, folder)
			}
		}
	}
	return folders
}
