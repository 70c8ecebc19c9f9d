package docs

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A README shows Go code as "```go FILE NAME": the block is a part of the declaration NAME (Type.Method for a method) in
// that file of the README's folder, or all of it. A line "// ..." stands for lines that are left out.
func TestGoCodeInREADMEsIsTheChapters(t *testing.T) {
	for page, text := range readmes(t) {
		for _, b := range blocks(text) {
			if b.language != "go" {
				continue
			}
			if err := b.check(filepath.Dir(page)); err != nil {
				t.Errorf("%s:%d: %v", page, b.line, err)
			}
		}
	}
}

func TestWrongGoCodeIsFound(t *testing.T) {
	folder := t.TempDir()
	source := "package p\n\n// f adds.\nfunc (t *T) f(a int) int {\n\tif a > 0 {\n\t\treturn a + 1\n\t}\n\treturn 0\n}\n"
	if err := os.WriteFile(filepath.Join(folder, "x.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		"```go x.go T.f\nfunc (t *T) f(a int) int {\n\tif a > 0 {\n\t\treturn a + 1\n\t}\n\treturn 0\n}\n```": true,
		"```go x.go T.f\nif a > 0 {\n\treturn a + 1\n}\n```":                                                  true,
		"```go x.go T.f\nfunc (t *T) f(a int) int {\n\t// ...\n\treturn 0\n}\n```":                            true,
		"```go x.go T.f\nfunc (t *T) f(a int) int {\n\treturn 0\n}\n```":                                      false, // lines are missing
		"```go x.go T.f\nif a > 0 {\n\treturn a + 2\n}\n```":                                                  false,
		"```go x.go f\nreturn 0\n```":                                                                         false, // no such function
		"```go y.go f\nreturn 0\n```":                                                                         false,
		"```go\nreturn 0\n```":                                                                                false, // from no file
	} {
		for _, b := range blocks(text) {
			if err := b.check(folder); (err == nil) != ok {
				t.Errorf("%s\n%v", text, err)
			}
		}
	}
}

// lineLink is a link to the line of a declaration: [text](FILE#LINE "NAME").
var lineLink = regexp.MustCompile(`\]\(([^)#\s]+\.go)#L(\d+) "([^"]+)"\)`)

var update = flag.Bool("update", false, "correct the lines in links to declarations")

// A file of a chapter is named with a link to the line of a declaration in it.
func TestLinksLeadToDeclarations(t *testing.T) {
	for path, text := range readmes(t) {
		corrected := lineLink.ReplaceAllStringFunc(text, func(link string) string {
			found := lineLink.FindStringSubmatch(link)
			file := filepath.Join(filepath.Dir(path), found[1])
			source, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return link
			}
			line, err := lineOf(file, source, found[3])
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return link
			}
			return fmt.Sprintf(`](%s#L%d "%s")`, found[1], line, found[3])
		})
		switch {
		case corrected == text:
		case *update:
			if err := os.WriteFile(path, []byte(corrected), 0o644); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s: links lead to other lines than those of their declarations: "+
				"go test ./internal/test/docs -run TestLinksLeadToDeclarations -update corrects them", path)
		}
		for _, link := range regexp.MustCompile(`\]\([^)]*#L[^)]*\)`).FindAllString(text, -1) {
			if !lineLink.MatchString(link) {
				t.Errorf("%s: %s names no declaration: write FILE#LINE \"NAME\"", path, link)
			}
		}
		for _, name := range regexp.MustCompile("[^[]`([a-z_/]+\\.go)`").FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), name[1])); err == nil {
				t.Errorf("%s: `%s` leads nowhere: write [`%s`](%s#L1 \"NAME\")", path, name[1], name[1], name[1])
			}
		}
	}
}

func readmes(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../../*/README.md")
	if err != nil || len(paths) < 6 {
		t.Fatalf("READMEs: %q %v", paths, err)
	}
	texts := map[string]string{}
	for _, path := range append(paths, "../../../README.md", "../../../06-crd-codegen/deploy/README.md",
		"../../../06-crd-codegen/controller-runtime/README.md", "../../../docs/questions/README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	return texts
}

// block is what stands between two lines of ```.
type block struct {
	line     int
	language string   // behind the first ```
	words    []string // behind the language
	lines    []string // without the indentation of the first ```
}

func blocks(text string) (all []block) {
	indent, open := "", false
	for i, line := range strings.Split(text, "\n") {
		before, info, fence := strings.Cut(line, "```")
		switch {
		case fence && open && before == indent:
			open = false
		case open:
			last := &all[len(all)-1]
			last.lines = append(last.lines, strings.TrimPrefix(line, indent))
		case fence && strings.TrimSpace(before) == "":
			indent, open = before, true
			language, words, _ := strings.Cut(info, " ")
			all = append(all, block{line: i + 1, language: language, words: strings.Fields(words)})
		}
	}
	return all
}

// check returns an error if the block is not in the declaration that it names.
func (b block) check(folder string) error {
	if len(b.words) != 2 {
		return fmt.Errorf("Go code without its source: write ```go FILE NAME")
	}
	path, name := filepath.Join(folder, b.words[0]), b.words[1]
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	declaration, err := declarationOf(path, source, name)
	if err != nil {
		return err
	}
	if part := missing(trimmed(declaration), trimmed(b.lines), "// ..."); part > 0 {
		return fmt.Errorf("part %d of the block is not in %s of %s, or not behind the part before it", part, name, b.words[0])
	}
	return nil
}

// missing splits a block at the lines that stand for any number of lines, and returns the first part that the text does
// not have behind the part before it. It counts from 1; 0 is none.
func missing(text, block []string, anything string) int {
	for i, run := range runs(block, anything) {
		at := indexOf(text, run)
		if at < 0 {
			return i + 1
		}
		text = text[at+len(run):]
	}
	return 0
}

// declarationOf returns the lines of a declaration, with its comment.
func declarationOf(path string, source []byte, name string) ([]string, error) {
	files, declaration, err := find(path, source, name)
	if err != nil {
		return nil, err
	}
	start := declaration.Pos()
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Doc != nil {
			start = d.Doc.Pos()
		}
	case *ast.GenDecl:
		if d.Doc != nil {
			start = d.Doc.Pos()
		}
	}
	return strings.Split(string(source[files.Position(start).Offset:files.Position(declaration.End()).Offset]), "\n"), nil
}

// lineOf returns the line in which a declaration begins, below its comment.
func lineOf(path string, source []byte, name string) (int, error) {
	files, declaration, err := find(path, source, name)
	if err != nil {
		return 0, err
	}
	return files.Position(declaration.Pos()).Line, nil
}

func find(path string, source []byte, name string) (*token.FileSet, ast.Decl, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments)
	if err != nil {
		return nil, nil, err
	}
	for _, declaration := range file.Decls {
		if slices.Contains(namesOf(declaration), name) {
			return files, declaration, nil
		}
	}
	return nil, nil, fmt.Errorf("%s declares no %s", path, name)
}

func namesOf(declaration ast.Decl) (names []string) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		receiver := d.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		switch generic := receiver.(type) {
		case *ast.IndexExpr:
			receiver = generic.X
		case *ast.IndexListExpr:
			receiver = generic.X
		}
		if ident, ok := receiver.(*ast.Ident); ok {
			return []string{ident.Name + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, ident := range s.Names {
					names = append(names, ident.Name)
				}
			}
		}
	}
	return names
}

// trimmed returns the lines without their indentation: a README may show the inside of a function further to the left.
func trimmed(lines []string) []string {
	var result []string
	for _, line := range lines {
		result = append(result, strings.TrimSpace(line))
	}
	return result
}

func runs(block []string, anything string) (result [][]string) {
	result = append(result, nil)
	for _, line := range block {
		if line == anything {
			result = append(result, nil)
			continue
		}
		result[len(result)-1] = append(result[len(result)-1], line)
	}
	return slices.DeleteFunc(result, func(run []string) bool { return len(run) == 0 })
}

func indexOf(lines, run []string) int {
	for at := 0; at+len(run) <= len(lines); at++ {
		if slices.Equal(lines[at:at+len(run)], run) {
			return at
		}
	}
	return -1
}
