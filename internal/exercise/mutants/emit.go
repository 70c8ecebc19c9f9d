package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// apply returns the source with the edits made.
func apply(source string, edits []edit) string {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		source = source[:e.from] + e.text + source[e.to:]
	}
	return source
}

// mutate checks the package with a mutant. It returns nil if that does not compile: a variable that is not used any more is
// mended, since a learner's mistake of that kind would use it.
func (p *packages) mutate(path string, source map[string]string, m mutant) *checked {
	source = maps.Clone(source)
	source[m.file] = apply(source[m.file], m.edits)
	for range 3 {
		c, err := p.check(path, source)
		if err != nil {
			return nil
		}
		var uses []edit
		for _, found := range c.errors {
			switch name, unused := strings.CutPrefix(found.Msg, "declared and not used: "); {
			case unused:
				at, ok := c.useAt(found.Pos)
				if !ok {
					return nil
				}
				uses = append(uses, edit{at, at, "; _ = " + name + "; "})
			case !strings.HasSuffix(found.Msg, "imported and not used") && !strings.Contains(found.Msg, "imported as"):
				return nil
			}
		}
		if len(uses) == 0 {
			return c
		}
		source[m.file] = apply(source[m.file], uses)
	}
	return nil
}

// useAt returns the offset at which a variable that is declared at pos can be used first.
func (c *checked) useAt(pos token.Pos) (at int, ok bool) {
	file := c.files[c.fset.Position(pos).Filename]
	after := func(list []ast.Stmt) {
		for _, s := range list {
			if s.Pos() <= pos && pos < s.End() {
				at, ok = c.offset(s.End()), true
			}
		}
	}
	head := func(s ast.Stmt, body *ast.BlockStmt) {
		if s.Pos() <= pos && pos < body.Lbrace {
			at, ok = c.offset(body.Lbrace)+1, true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil || pos < n.Pos() || pos >= n.End() {
			return false
		}
		switch n := n.(type) {
		case *ast.BlockStmt:
			after(n.List)
		case *ast.CaseClause:
			after(n.Body)
		case *ast.CommClause:
			if n.Comm != nil && n.Comm.Pos() <= pos && pos < n.Comm.End() {
				at, ok = c.offset(n.Colon)+1, true
			}
			after(n.Body)
		case *ast.IfStmt:
			head(n, n.Body)
		case *ast.ForStmt:
			head(n, n.Body)
		case *ast.RangeStmt:
			head(n, n.Body)
		case *ast.SwitchStmt:
			if pos < n.Body.Lbrace {
				ok = false
			}
		}
		return true
	})
	return at, ok
}

// declaration is a declaration of the package, by the file that has it.
type declaration struct {
	file string
	decl ast.Decl
	name string
}

// closure returns the declarations that the names need, these included, in the order of the files.
func (c *checked) closure(names []string) []declaration {
	byObject, methods := map[types.Object]declaration{}, map[types.Object][]declaration{}
	var all []declaration
	for _, file := range slices.Sorted(maps.Keys(c.files)) {
		for _, decl := range c.files[file].Decls {
			d := declaration{file: file, decl: decl}
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				d.name = decl.Name.Name
				if decl.Recv == nil {
					byObject[c.info.Defs[decl.Name]] = d
					break
				}
				ast.Inspect(decl.Recv, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && c.own(c.info.Uses[id]) {
						methods[c.info.Uses[id]] = append(methods[c.info.Uses[id]], d)
					}
					return true
				})
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					var ids []*ast.Ident
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						ids = spec.Names
					case *ast.TypeSpec:
						ids = []*ast.Ident{spec.Name}
					}
					for _, id := range ids {
						if d.name == "" {
							d.name = id.Name
						}
						byObject[c.info.Defs[id]] = d
					}
				}
			}
			all = append(all, d)
		}
	}
	needed := map[ast.Decl]bool{}
	var need func(d declaration)
	object := func(o types.Object) {
		if d, ok := byObject[o]; ok && !c.shared(o) {
			need(d)
		}
		for _, method := range methods[o] {
			need(method)
		}
	}
	need = func(d declaration) {
		if needed[d.decl] {
			return
		}
		needed[d.decl] = true
		ast.Inspect(d.decl, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if o := c.info.Uses[id]; c.own(o) {
					object(o)
				}
			}
			return true
		})
	}
	for _, name := range names {
		object(c.pkg.Scope().Lookup(name))
	}
	return slices.DeleteFunc(all, func(d declaration) bool { return !needed[d.decl] })
}

// own says whether an object is declared at the top of the package.
func (c *checked) own(o types.Object) bool {
	return o != nil && o.Pkg() == c.pkg && o.Parent() == c.pkg.Scope()
}

// shared says whether an object is an exported type without methods: the grader knows it as answers.NAME, so it is not copied.
func (c *checked) shared(o types.Object) bool {
	t, ok := o.(*types.TypeName)
	if !ok || !o.Exported() {
		return false
	}
	named, ok := t.Type().(*types.Named)
	return ok && !t.IsAlias() && named.NumMethods() == 0
}

// emit writes a file of the graders' test with a mutant under names of its own. It is the variable mutant_m7, if 7 is the number.
func (c *checked) emit(number int, pkg, gradersPath, answersPath string, root element) string {
	suffix := fmt.Sprintf("_m%d", number)
	imports := map[string]string{"answers" + suffix: answersPath}
	var body strings.Builder
	for _, d := range c.closure(root.names) {
		var renames []edit
		start := c.offset(d.decl.Pos())
		ast.Inspect(d.decl, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := c.info.Uses[id]
			if o == nil {
				o = c.info.Defs[id]
			}
			from, to := c.offset(id.Pos())-start, c.offset(id.End())-start
			switch pkg, imported := o.(*types.PkgName); {
			case imported:
				imports[id.Name+suffix] = pkg.Imported().Path()
				renames = append(renames, edit{from, to, id.Name + suffix})
			case c.own(o) && c.shared(o):
				renames = append(renames, edit{from, to, "answers" + suffix + "." + id.Name})
			case c.own(o):
				renames = append(renames, edit{from, to, id.Name + suffix})
			}
			return true
		})
		// A verdict names the place in the answer, not in this file.
		fmt.Fprintf(&body, "//line /answers/%s:%d\n%s\n\n", filepath.Base(answersPath)+"/"+d.file,
			c.fset.Position(d.decl.Pos()).Line, apply(c.text(d.decl), renames))
	}
	answer := root.text
	for _, name := range root.names {
		if !c.shared(c.pkg.Scope().Lookup(name)) {
			answer = regexp.MustCompile(`\banswers\.`+name+`\b`).ReplaceAllLiteralString(answer, name+suffix)
		}
	}
	if strings.Contains(answer, "graders.") {
		imports["graders"+suffix] = gradersPath
		answer = strings.ReplaceAll(answer, "graders.", "graders"+suffix+".")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n", pkg)
	for _, local := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&b, "\t%s %q\n", local, imports[local])
	}
	fmt.Fprintf(&b, ")\n\nvar _ = answers%s.%s\n\n", suffix, root.names[0])
	b.WriteString(body.String())
	fmt.Fprintf(&b, "var mutant%s = %s\n", suffix, answer)
	return b.String()
}
