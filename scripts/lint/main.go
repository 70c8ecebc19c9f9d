// Command lint checks what no other linter knows: the lengths of lines and of chapters, that no test beside others sets a feature
// gate, and (shell.go) that each command works on Linux and macOS. It prints the chapters' lengths.
//
// The length of a chapter is the number of its lines that are not blank, and neither comment nor import. Tests, generated
// code, and folders inside the chapter's, which hold its types, do not count.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// limits are the most lines that each chapter is allowed to have, so that it can be read in one sitting. A file that an earlier
// chapter has as well does not count: a reader knows it.
var limits = map[string]int{
	"01-listwatch":   300,
	"02-informer":    300,
	"03-lister":      300,
	"04-workqueue":   400,
	"05-controller":  500,
	"06-crd-codegen": 750,
}

// maxColumns is the longest line, in which a tab counts as 4 columns.
const maxColumns = 140

func main() {
	lengths := map[string]int{}
	known := map[string]bool{} // the texts of the files before; WalkDir goes through the chapters in their order
	failed := false
	complain := func(format string, args ...any) {
		failed = true
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
	commands := &shell{functions: map[string]bool{}, complain: complain}
	if err := checkShell(commands); err != nil {
		complain("%v", err)
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && name != ".":
			return fs.SkipDir
		case path.Ext(name) != ".go":
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		commands.goFile(name, files, file)
		quoted := quotedLines(files, file)
		for number, line := range bytes.Split(source, []byte("\n")) {
			if quoted[number+1] && strings.HasSuffix(name, "_test.go") {
				continue
			}
			marker := bytes.HasPrefix(bytes.TrimSpace(line), []byte("// +")) // a generator reads it, and only as one line
			if columns(line) > maxColumns && !marker {
				complain("%s:%d: a line of %d columns: %d are allowed", name, number+1, columns(line), maxColumns)
			}
		}
		for _, test := range parallelGates(file) {
			complain("%s: %s turns a feature of client-go off or on for the whole process: it must not be parallel", name, test)
		}
		if !strings.HasSuffix(name, "_test.go") && !known[string(source)] {
			chapter := strings.TrimSuffix(path.Dir(name), "/children") // which chapter 6 shares with its twin
			lengths[chapter] += codeLines(files, file, source)
			known[string(source)] = true
		}
		return nil
	})
	if err != nil {
		complain("%v", err)
	}
	for _, chapter := range slices.Sorted(maps.Keys(limits)) {
		fmt.Printf("%-16s %4d new lines of at most %d\n", chapter, lengths[chapter], limits[chapter])
		if lengths[chapter] > limits[chapter] {
			complain("%s has %d lines too many", chapter, lengths[chapter]-limits[chapter])
		}
	}
	if failed {
		os.Exit(1)
	}
}

// parallelGates returns the functions of a file that set a feature gate of client-go, and let other tests run beside them.
func parallelGates(file *ast.File) (names []string) {
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		calls := map[string]bool{}
		ast.Inspect(function, func(node ast.Node) bool {
			if selector, ok := node.(*ast.SelectorExpr); ok {
				calls[selector.Sel.Name] = true
			}
			return true
		})
		if calls["Parallel"] && calls["SetFeatureDuringTest"] {
			names = append(names, function.Name.Name)
		}
	}
	return names
}

// columns returns the width of a line.
func columns(line []byte) int { return utf8.RuneCount(line) + 3*bytes.Count(line, []byte("\t")) }

// quotedLines returns the lines with a string of more than 80 columns: in a test, what is printed or sent stands as it is.
func quotedLines(files *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			first := files.Position(literal.Pos()).Line
			for i, line := range strings.Split(literal.Value, "\n") {
				if len(line) > 80 {
					lines[first+i] = true
				}
			}
		}
		return true
	})
	return lines
}

// codeLines returns how many lines of a file have code, other than imports.
func codeLines(files *token.FileSet, file *ast.File, source []byte) int {
	lines := map[int]bool{}
	handle := files.File(file.Pos())
	var s scanner.Scanner
	s.Init(handle, source, nil, 0) // without comments
	for {
		position, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // the scanner's own
		}
		for line := handle.Line(position); line <= handle.Line(position)+strings.Count(text, "\n"); line++ {
			lines[line] = true // each line of a raw string
		}
	}
	for _, declaration := range file.Decls {
		if imports, ok := declaration.(*ast.GenDecl); ok && imports.Tok == token.IMPORT {
			for line := handle.Line(imports.Pos()); line <= handle.Line(imports.End()); line++ {
				delete(lines, line)
			}
		}
	}
	return len(lines)
}
