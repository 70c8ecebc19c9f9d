package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

const alteredPath = "example.com/client-go-workbook/internal/exercise/mutants/altered"

// packages knows the compiled packages that the answers import.
type packages struct {
	exports map[string]string // file by import path

	mu       sync.Mutex // an importer is not safe for concurrent use
	importer types.Importer
}

func newPackages(ctx context.Context, exercises []manifest.Exercise) (*packages, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}", alteredPath}
	for _, e := range exercises {
		args = append(args, "./"+filepath.ToSlash(e.Answers()))
	}
	list := exec.CommandContext(ctx, "go", args...)
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	p := &packages{exports: map[string]string{}}
	for line := range strings.Lines(string(output)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		p.exports[path] = file
	}
	p.importer = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if p.exports[path] == "" {
			return nil, fmt.Errorf("no package %s", path)
		}
		return os.Open(p.exports[path])
	})
	return p, nil
}

// checked is a package of answers, parsed and with types.
type checked struct {
	fset   *token.FileSet
	files  map[string]*ast.File
	source map[string]string
	info   *types.Info
	pkg    *types.Package
	errors []types.Error
}

// check parses the files, and finds the types. The package may have errors.
func (p *packages) check(path string, source map[string]string) (*checked, error) {
	c := &checked{fset: token.NewFileSet(), files: map[string]*ast.File{}, source: source, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{},
	}}
	var files []*ast.File
	for name, text := range source {
		file, err := parser.ParseFile(c.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		c.files[name] = file
		files = append(files, file)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	config := types.Config{Importer: p.importer, Error: func(err error) {
		if found := (types.Error{}); errors.As(err, &found) {
			c.errors = append(c.errors, found)
		}
	}}
	c.pkg, _ = config.Check(path, c.fset, files, c.info) // c.errors has the error
	return c, nil
}

// offset is the place of a position in its file.
func (c *checked) offset(pos token.Pos) int { return c.fset.Position(pos).Offset }

// text is the source of a node.
func (c *checked) text(n ast.Node) string {
	from, to := c.fset.Position(n.Pos()), c.fset.Position(n.End())
	return c.source[from.Filename][from.Offset:to.Offset]
}

// answers are the accepted answers of an exercise: the package's files without mistakes.go.
func answers(e manifest.Exercise) (map[string]string, error) {
	source := map[string]string{}
	for _, name := range []string{"solution.go", "others.go"} {
		data, err := os.ReadFile(filepath.Join(e.Answers(), name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Mutants call functions of that package. On the same line: a mutant's lines are those of the answer.
		source[name] = packageClause.ReplaceAllString(string(data), `package exercise; import altered "`+alteredPath+`"`)
	}
	return source, nil
}

var packageClause = regexp.MustCompile(`(?m)^package exercise$`)

// accepted reads the list of accepted answers from a grader's test: the source of each, and which names of package answers it has.
// It returns the test's package, too.
func accepted(e manifest.Exercise) (pkg string, elements []element, err error) {
	file := strings.TrimSuffix(e.Grader(), ".go") + "_test.go"
	data, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, data, parser.SkipObjectResolution)
	if err != nil {
		return "", nil, err
	}
	text := func(n ast.Node) string {
		return string(data[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || !strings.HasSuffix(text(call.Fun), ".Accepts") {
			return true
		}
		for _, item := range call.Args[1:] { // the first is t
			found := element{text: text(item)}
			ast.Inspect(item, func(n ast.Node) bool {
				if selector, ok := n.(*ast.SelectorExpr); ok && text(selector.X) == "answers" {
					found.names = append(found.names, selector.Sel.Name)
				}
				return true
			})
			elements = append(elements, found)
		}
		return false
	})
	return parsed.Name.Name, elements, nil
}

// element is an accepted answer as its grader's test names it: "answers.Worker", or a literal of several names.
type element struct {
	text  string
	names []string
}
