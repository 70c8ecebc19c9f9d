package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// edit replaces a part of a file.
type edit struct {
	from, to int
	text     string
}

// mutant is an accepted answer with one change.
type mutant struct {
	file  string
	name  string // the declaration that is changed, and the change: it names the mutant in mutants.yaml
	line  int
	edits []edit
}

// walk collects the mutants of a declaration.
type walk struct {
	*checked
	file    string
	name    string
	stack   []ast.Node // from the declaration to the parent of the node
	mutants []mutant
}

// mutants returns the mutants of a declaration: those of Go in general, and those of this field.
func (c *checked) mutants(file string, decl ast.Decl, name string) []mutant {
	w := &walk{checked: c, file: file, name: name}
	ast.Inspect(decl, func(n ast.Node) bool {
		if n == nil {
			w.stack = w.stack[:len(w.stack)-1]
			return true
		}
		for _, operator := range []func(ast.Node){
			w.conditions, w.comparisons, w.statements, w.order, w.results, w.literals, w.fields, w.loops, w.cases, // Go
			w.contexts, w.errors, w.identity, w.copies, w.queues, w.waits, w.writes, w.locks, w.memory, // client-go
		} {
			operator(n)
		}
		w.stack = append(w.stack, n)
		return true
	})
	return w.mutants
}

// change adds a mutant in which the node's text is another one.
func (w *walk) change(n ast.Node, text string) { w.add(n, n.Pos(), n.End(), text) }

// remove adds a mutant without a statement or an element.
func (w *walk) remove(n ast.Node) { w.add(n, n.Pos(), n.End(), "") }

func (w *walk) add(n ast.Node, from, to token.Pos, text string) {
	old := w.source[w.file][w.offset(from):w.offset(to)]
	if old == text {
		return
	}
	name := fmt.Sprintf("%s: %s → %s", w.name, short(old), short(text))
	if text == "" {
		name = fmt.Sprintf("%s: without %s", w.name, short(old))
	}
	w.mutants = append(w.mutants, mutant{w.file, name, w.fset.Position(n.Pos()).Line, []edit{{w.offset(from), w.offset(to), text}}})
}

// short is source in one line.
func short(source string) string {
	line := strings.Join(strings.Fields(source), " ")
	if runes := []rune(line); len(runes) > 70 {
		line = string(runes[:40]) + " ... " + string(runes[len(runes)-25:])
	}
	return line
}

func (w *walk) parent() ast.Node {
	if len(w.stack) == 0 {
		return nil
	}
	return w.stack[len(w.stack)-1]
}

func (w *walk) typeOf(e ast.Expr) types.Type {
	if t := w.info.TypeOf(e); t != nil {
		return t
	}
	return types.Typ[types.Invalid]
}

func (w *walk) is(e ast.Expr, name string) bool {
	return strings.TrimPrefix(w.typeOf(e).String(), "*") == name
}

// callee is the function of a call: its package's path, and its name.
func (w *walk) callee(call *ast.CallExpr) (path, name string) {
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.IndexExpr:
		if selector, ok := f.X.(*ast.SelectorExpr); ok {
			id = selector.Sel
		}
	}
	if id == nil {
		return "", ""
	}
	object := w.info.Uses[id]
	if object == nil || object.Pkg() == nil {
		return "", id.Name
	}
	return object.Pkg().Path(), id.Name
}

// conditions drops or forces a condition, and each operand of it.
func (w *walk) conditions(n ast.Node) {
	force := func(e ast.Expr) {
		w.change(e, "("+w.text(e)+") && false")
		w.change(e, "("+w.text(e)+") || true")
	}
	switch n := n.(type) {
	case *ast.IfStmt:
		force(n.Cond)
	case *ast.CaseClause:
		if s, ok := w.stack[len(w.stack)-2].(*ast.SwitchStmt); ok && s.Tag == nil {
			for _, e := range n.List {
				force(e)
			}
		}
	case *ast.BinaryExpr:
		if n.Op == token.LAND || n.Op == token.LOR {
			w.change(n, w.text(n.X))
			w.change(n, w.text(n.Y))
		}
	}
}

// comparisons changes what is compared at the border, and what is equal; and plus and minus.
func (w *walk) comparisons(n ast.Node) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		other := map[token.Token]token.Token{
			token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ,
			token.NEQ: token.EQL, token.ADD: token.SUB, token.SUB: token.ADD,
		}[n.Op]
		_, whole := w.parent().(*ast.IfStmt) // conditions has it
		if other != token.ILLEGAL && !(whole && (n.Op == token.EQL || n.Op == token.NEQ)) {
			w.change(n, w.text(n.X)+" "+other.String()+" "+w.text(n.Y))
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			w.change(n, w.text(n.X))
		}
	}
}

// statements leaves out a statement.
func (w *walk) statements(n ast.Node) {
	switch n := n.(type) {
	case *ast.ExprStmt:
		call, _ := n.X.(*ast.CallExpr)
		if call != nil && w.logs(call) {
			return
		}
		if _, clause := w.parent().(*ast.CommClause); !clause {
			w.remove(n)
		}
	case *ast.IncDecStmt, *ast.SendStmt, *ast.BranchStmt:
		if _, clause := w.parent().(*ast.CommClause); !clause {
			w.remove(n)
		}
	case *ast.AssignStmt:
		if _, block := w.parent().(*ast.BlockStmt); block && n.Tok != token.DEFINE {
			w.remove(n)
		}
	case *ast.DeferStmt:
		if _, name := w.callee(n.Call); strings.HasPrefix(name, "cancel") || name == "Close" || name == "Stop" {
			return // vet sees it, or nobody
		}
		w.remove(n)
	case *ast.GoStmt:
		w.add(n, n.Pos(), n.Call.Pos(), "")
	}
}

// order exchanges two calls that follow each other.
func (w *walk) order(n ast.Node) {
	block, ok := n.(*ast.BlockStmt)
	if !ok {
		return
	}
	for i := range len(block.List) - 1 {
		first, isCall := block.List[i].(*ast.ExprStmt)
		second, areCalls := block.List[i+1].(*ast.ExprStmt)
		if isCall && areCalls {
			w.add(first, first.Pos(), second.End(), w.text(second)+"\n"+w.text(first))
		}
	}
}

// results returns nothing in place of something.
func (w *walk) results(n ast.Node) {
	statement, ok := n.(*ast.ReturnStmt)
	if !ok {
		return
	}
	for i, result := range statement.Results {
		text := w.text(result)
		last := statement.Results[len(statement.Results)-1]
		if i < len(statement.Results)-1 && w.is(last, "error") && w.text(last) != "nil" {
			continue // nobody looks at a result beside an error
		}
		switch t := w.typeOf(result).Underlying().(type) {
		case *types.Interface, *types.Slice, *types.Map, *types.Pointer:
			if text != "nil" {
				w.change(result, "nil")
			}
		case *types.Basic:
			switch {
			case t.Info()&types.IsString != 0 && text != `""`:
				w.change(result, `""`)
			case t.Info()&types.IsNumeric != 0 && text != "0":
				w.change(result, "0")
			case t.Info()&types.IsBoolean != 0 && text != "true" && text != "false":
				w.change(result, "true")
				w.change(result, "false")
			}
		}
		if call, ok := result.(*ast.CallExpr); ok && w.is(result, "error") { // the call is made, its error is lost
			if path, name := w.callee(call); path != "errors" && path != errorsPath && name != "Errorf" && name != "Err" {
				w.change(result, "func() error { _ = "+text+"; return nil }()")
			}
		}
	}
}

// literals changes numbers, words and truth values.
func (w *walk) literals(n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if w.inMessage() || strings.Contains(w.typeOf(n).String(), "time.Duration") {
			return
		}
		if call, ok := w.parent().(*ast.CallExpr); ok && w.text(call.Fun) == "make" {
			return // a capacity
		}
		switch n.Kind {
		case token.INT:
			if number, err := strconv.Atoi(n.Value); err == nil {
				w.change(n, strconv.Itoa(number+1))
			}
		case token.STRING:
			if text, err := strconv.Unquote(n.Value); err == nil && text != "" {
				if !strings.Contains(text, " ") { // else it is for people, and another one is as good
					w.change(n, strconv.Quote("x"+text))
				}
				w.change(n, `""`)
			}
		}
	case *ast.Ident:
		if object := w.info.Uses[n]; object == types.Universe.Lookup("true") {
			w.change(n, "false")
		} else if object == types.Universe.Lookup("false") {
			w.change(n, "true")
		}
	}
}

// inMessage says whether the node is a part of an error's or a log's text.
func (w *walk) inMessage() bool {
	for _, n := range w.stack {
		if call, ok := n.(*ast.CallExpr); ok {
			if path, name := w.callee(call); name == "Errorf" || path == "errors" || name == "panic" || w.logs(call) {
				return true
			}
		}
		if _, ok := n.(*ast.ImportSpec); ok {
			return true
		}
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			return true
		}
	}
	return false
}

// logs says whether a call writes to the log.
func (w *walk) logs(call *ast.CallExpr) bool {
	path, _ := w.callee(call)
	return strings.Contains(path, "klog") || strings.Contains(path, "logr") || path == "k8s.io/apimachinery/pkg/util/runtime"
}

// fields leaves out an element of a literal: a field, an entry.
func (w *walk) fields(n ast.Node) {
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return
	}
	for i, e := range literal.Elts {
		to := e.End()
		if i+1 < len(literal.Elts) {
			to = literal.Elts[i+1].Pos()
		} else if rest := w.source[w.file][w.offset(e.End()):w.offset(literal.Rbrace)]; strings.HasPrefix(rest, ",") {
			to++
		}
		w.add(e, e.Pos(), to, "")
	}
}

// loops looks at the first or the last element only, or leaves one out.
func (w *walk) loops(n ast.Node) {
	loop, ok := n.(*ast.RangeStmt)
	if !ok {
		return
	}
	x := w.text(loop.X)
	switch w.typeOf(loop.X).Underlying().(type) {
	case *types.Slice:
		w.change(loop.X, fmt.Sprintf("%s[:min(1, len(%s))]", x, x))
		w.change(loop.X, fmt.Sprintf("%s[max(0, len(%s)-1):]", x, x))
		w.change(loop.X, fmt.Sprintf("%s[min(1, len(%s)):]", x, x))
	case *types.Map:
		w.add(loop.Body, loop.Body.Rbrace, loop.Body.Rbrace, "; break ")
	}
}

// cases leaves out a case.
func (w *walk) cases(n ast.Node) {
	switch n := n.(type) {
	case *ast.CommClause:
		w.remove(n)
	case *ast.CaseClause:
		if n.List != nil {
			w.remove(n)
		}
	}
}

// contexts gives a call another context: one that never ends, or one that has ended.
func (w *walk) contexts(n ast.Node) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return
	}
	if path, _ := w.callee(call); path == "context" || path == alteredPath {
		return
	}
	for _, arg := range call.Args {
		if w.is(arg, "context.Context") {
			w.change(arg, "context.Background()")
			w.change(arg, "altered.Ended("+w.text(arg)+")")
		}
	}
}

const errorsPath = "k8s.io/apimachinery/pkg/api/errors"

// errors takes any error, or another one, for the expected one.
func (w *walk) errors(n ast.Node) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	path, name := w.callee(call)
	argument := w.text(call.Args[0])
	switch {
	case path == errorsPath && strings.HasPrefix(name, "Is"):
		w.change(call, argument+" != nil")
		for _, other := range []string{"IsNotFound", "IsConflict", "IsAlreadyExists", "IsInvalid"} {
			if other != name {
				w.change(call.Fun.(*ast.SelectorExpr).Sel, other)
			}
		}
	case path == "errors" && (name == "Is" || name == "As"):
		w.change(call, argument+" != nil")
	}
}

// identity puts a constant of a fixture in the place of a name, a namespace, a UID or a version.
func (w *walk) identity(n ast.Node) {
	if w.assigned(n) || w.inMessage() {
		return
	}
	var name string
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if _, ok := w.parent().(*ast.SelectorExpr); ok {
			return
		}
		name = n.Sel.Name
	case *ast.Ident:
		object, ok := w.info.Uses[n].(*types.Var)
		if _, call := w.parent().(*ast.CallExpr); !ok || !call || object.IsField() {
			return
		}
		name = n.Name
	default:
		return
	}
	basic, ok := w.typeOf(n.(ast.Expr)).Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsString == 0 {
		return
	}
	switch strings.ToLower(name) {
	case "namespace":
		w.change(n, `"default"`)
		w.change(n, `""`)
	case "name", "key":
		w.change(n, `"web-0"`)
		w.change(n, `""`)
	case "uid", "resourceversion":
		w.change(n, `""`)
	}
}

// assigned says whether a value is written to the node, or its address taken.
func (w *walk) assigned(n ast.Node) bool {
	switch parent := w.parent().(type) {
	case *ast.AssignStmt:
		return slices.ContainsFunc(parent.Lhs, func(e ast.Expr) bool { return e == n })
	case *ast.UnaryExpr:
		return parent.Op == token.AND
	case *ast.KeyValueExpr:
		return parent.Key == n
	}
	return false
}

// copies shares what is copied.
func (w *walk) copies(n ast.Node) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return
	}
	path, name := w.callee(call)
	switch {
	case name == "DeepCopy" && len(call.Args) == 0:
		receiver := w.text(call.Fun.(*ast.SelectorExpr).X)
		w.change(call, receiver)
		w.change(call, "new(*"+receiver+")")
		w.change(call, "new("+receiver+")")
	case (path == "slices" || path == "maps") && name == "Clone":
		w.change(call, w.text(call.Args[0]))
	}
}

// queues takes another method of the workqueue.
func (w *walk) queues(n ast.Node) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return
	}
	path, name := w.callee(call)
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || path != "k8s.io/client-go/util/workqueue" {
		return
	}
	receiver := w.text(selector.X)
	switch name {
	case "AddRateLimited":
		w.change(selector.Sel, "Add")
		w.change(selector.Sel, "Forget")
		w.change(call, fmt.Sprintf("func() { %s; %s }()", w.text(call), w.text(call)))
	case "Forget", "Done":
		w.change(selector.Sel, "AddRateLimited")
		w.change(selector.Sel, "Add")
	case "Add":
		w.change(selector.Sel, "AddRateLimited")
	case "AddAfter":
		w.change(call, fmt.Sprintf("%s.Add(%s)", receiver, w.text(call.Args[0])))
		w.change(call, fmt.Sprintf("%s.AddRateLimited(%s)", receiver, w.text(call.Args[0])))
		w.change(call.Args[1], "2*("+w.text(call.Args[1])+")")
	case "ShutDown":
		w.change(selector.Sel, "ShutDownWithDrain")
	case "ShutDownWithDrain":
		w.change(selector.Sel, "ShutDown")
	}
}

// waits sleeps in place of a wait, or does not wait for what it has started.
func (w *walk) waits(n ast.Node) {
	switch n := n.(type) {
	case *ast.ExprStmt:
		if receive, ok := n.X.(*ast.UnaryExpr); ok && receive.Op == token.ARROW {
			if _, clause := w.parent().(*ast.CommClause); !clause {
				w.change(n, "altered.Sleep()")
			}
		}
	case *ast.CallExpr:
		_, name := w.callee(n)
		switch {
		case name == "Go" && len(n.Args) == 1:
			if _, statement := w.parent().(*ast.ExprStmt); statement {
				w.change(n, "go "+w.text(n.Args[0])+"()")
			}
		case name == "Wait" && len(n.Args) == 0:
			if _, statement := w.parent().(*ast.ExprStmt); statement {
				w.change(n, "altered.Sleep()")
			}
		case strings.HasPrefix(name, "WaitFor") && types.Identical(w.typeOf(n), types.Typ[types.Bool]):
			w.change(n, "altered.Sleep()")
		}
	}
}

// writes sends another request.
func (w *walk) writes(n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		selector, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) < 2 {
			return
		}
		_, name := w.callee(n)
		switch name {
		case "Update":
			w.change(selector.Sel, "UpdateStatus")
			w.change(n, fmt.Sprintf("altered.DeleteAndCreate(%s, %s, %s)", w.text(n.Args[0]), w.text(selector.X), w.text(n.Args[1])))
		case "UpdateStatus":
			w.change(selector.Sel, "Update")
		case "Apply":
			w.change(selector.Sel, "ApplyStatus")
		case "ApplyStatus":
			w.change(selector.Sel, "Apply")
		}
	case *ast.SelectorExpr:
		if w.is(n, "k8s.io/apimachinery/pkg/types.PatchType") {
			for _, other := range []string{"MergePatchType", "StrategicMergePatchType", "JSONPatchType"} {
				if other != n.Sel.Name {
					w.change(n.Sel, other)
				}
			}
		}
	}
}

// locks leaves out a function's locks.
func (w *walk) locks(n ast.Node) {
	var body *ast.BlockStmt
	switch n := n.(type) {
	case *ast.FuncDecl:
		body = n.Body
	case *ast.FuncLit:
		body = n.Body
	}
	if body == nil {
		return
	}
	m := mutant{file: w.file, name: w.name + ": without its locks", line: w.fset.Position(n.Pos()).Line}
	for _, s := range body.List {
		var call *ast.CallExpr
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, _ = s.X.(*ast.CallExpr)
		case *ast.DeferStmt:
			call = s.Call
		}
		if call == nil {
			continue
		}
		if path, name := w.callee(call); path == "sync" && slices.Contains([]string{"Lock", "Unlock", "RLock", "RUnlock"}, name) {
			m.edits = append(m.edits, edit{w.offset(s.Pos()), w.offset(s.End()), ""})
		}
	}
	if len(m.edits) > 0 {
		w.mutants = append(w.mutants, m)
	}
}

// memory does what is asked for in the first call only.
func (w *walk) memory(n ast.Node) {
	f, ok := n.(*ast.FuncDecl)
	if !ok || f.Recv != nil || f.Body == nil || !ast.IsExported(f.Name.Name) {
		return
	}
	zeros := []string{}
	if f.Type.Results != nil {
		for _, field := range f.Type.Results.List {
			zero := "nil"
			if basic, ok := w.typeOf(field.Type).Underlying().(*types.Basic); ok {
				switch {
				case basic.Info()&types.IsString != 0:
					zero = `""`
				case basic.Info()&types.IsBoolean != 0:
					zero = "false"
				default:
					zero = "0"
				}
			}
			for range max(1, len(field.Names)) {
				zeros = append(zeros, zero)
			}
		}
	}
	w.mutants = append(w.mutants, mutant{w.file, w.name + ": the first call only", w.fset.Position(n.Pos()).Line, []edit{{
		w.offset(f.Body.Lbrace) + 1, w.offset(f.Body.Lbrace) + 1, " if altered.Again() { return " + strings.Join(zeros, ", ") + " }; ",
	}}})
}
