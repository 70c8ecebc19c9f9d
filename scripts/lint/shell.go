package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"mvdan.cc/sh/v3/syntax"
)

// shell checks the commands of scripts, READMEs, predictions and tests: that they run on Debian's smallest system and on
// macOS, whose bash is 3.2, whose make is 3.81, and whose other programs are BSD's.
type shell struct {
	programs  map[string]string // the list in scripts/programs.txt that each is in
	functions map[string]bool   // of all scripts
	complain  func(format string, args ...any)
}

// programLists returns the lists of scripts/programs.txt.
func programLists(text string) map[string]string {
	lists := map[string]string{}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" {
			for _, name := range fields[1:] {
				lists[name] = fields[0]
			}
		}
	}
	return lists
}

// builtin are the builtins of bash 3.2.
var builtin = strings.Fields(". : [ alias bg break builtin cd command continue echo eval exec exit export false fg getopts hash " +
	"jobs kill let printf pwd read return set shift shopt source test times trap true type ulimit umask unalias unset wait")

// gnu are forms that BSD's programs do not have, or understand in another way. What a call matches is its source.
var gnu = []struct {
	program string // empty: any of the system's
	form    *regexp.Regexp
}{
	{"", regexp.MustCompile(`\s--([a-z]|\s)`)},
	{"", regexp.MustCompile(`/proc/`)},
	{"awk", regexp.MustCompile(`gensub|strftime|systime|asort|PROCINFO|@include`)},
	{"cp", regexp.MustCompile(`\s-\w*[dtTu]`)},
	{"date", regexp.MustCompile(`\s-\w*[dI]|%N`)},
	{"find", regexp.MustCompile(`\s-(printf|regextype|quit|executable|readable|writable)\b|^find\s+[-(!]`)},
	{"grep", regexp.MustCompile(`\s-\w*P|\\[+?|sSwWbB]`)},
	{"head", regexp.MustCompile(`\s-[nc]\s*-`)},
	{"ln", regexp.MustCompile(`\s-\w*[rtT]`)},
	{"mktemp", regexp.MustCompile(`\s-\w*[pt]`)},
	{"mv", regexp.MustCompile(`\s-\w*[tT]`)},
	{"sed", regexp.MustCompile(`\s-\w*[irsz]|\\[+?|sSwWbBtn]|\d~\d|\b0,/`)},
	{"sleep", regexp.MustCompile(`\s[\d.]*[a-z]`)},
	{"sort", regexp.MustCompile(`\s-\w*[hRVz]`)},
	{"stty", regexp.MustCompile(`\s-F`)},
	{"touch", regexp.MustCompile(`\s-\w*d`)},
	{"xargs", regexp.MustCompile(`\s-[adir]`)},
	{"printf", regexp.MustCompile(`%\([^)]*\)T`)}, // these two are bash's own
	{"read", regexp.MustCompile(`\s-\w*[iN]|\s-t\s*\d*\.`)},
	{"wait", regexp.MustCompile(`\s-[npf]`)},
	{"shopt", regexp.MustCompile(`globstar|lastpipe|inherit_errexit`)},
	{"make", regexp.MustCompile(`\s-\w*O|\s--(output-sync|shuffle|eval)`)},
}

var newerVariables = strings.Fields("BASHPID BASH_ARGV0 EPOCHREALTIME EPOCHSECONDS SRANDOM READLINE_LINE")

// script checks a script, or a command, whose first line is that line of the file.
func (s *shell) script(file string, line int, source string) {
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(source), "")
	if err != nil {
		s.complain("%s:%d: %v", file, line, err)
		return
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		if f, ok := node.(*syntax.FuncDecl); ok {
			s.functions[f.Name.Value] = true
		}
		return true
	})
	text := func(node syntax.Node) string { return source[node.Pos().Offset():node.End().Offset()] }
	wrong := func(node syntax.Node, why string) {
		s.complain("%s:%d: %s: %s", file, line+int(node.Pos().Line())-1, strings.SplitN(text(node), "\n", 2)[0], why)
	}
	const newer = "macOS's bash 3.2 cannot do that"
	arrays := map[string]bool{} // by name: whether it always has an element
	syntax.Walk(parsed, func(node syntax.Node) bool {
		if a, ok := node.(*syntax.Assign); ok && a.Array != nil {
			was, known := arrays[a.Name.Value]
			arrays[a.Name.Value] = (was || !known) && (len(a.Array.Elems) > 0 || a.Append)
		}
		return true
	})
	var substitutions, alternatives, procTests []syntax.Node
	inside := func(node syntax.Node, outer []syntax.Node) bool {
		return slices.ContainsFunc(outer, func(o syntax.Node) bool {
			return o.Pos().Offset() < node.Pos().Offset() && node.End().Offset() <= o.End().Offset()
		})
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				s.call(n.Args, text, wrong, func(code *syntax.Word) {
					source := text(code)
					if quote := source[:1]; strings.ContainsAny(quote, `'"`) {
						source = strings.TrimSuffix(source[1:], quote)
					}
					s.script(file, line+int(code.Pos().Line())-1, source)
				}, inside(n, procTests))
			}
		case *syntax.IfClause:
			if len(n.Cond) > 0 && strings.Contains(text(n.Cond[0]), "-r /proc/") {
				procTests = append(procTests, n)
			}
		case *syntax.CmdSubst:
			substitutions = append(substitutions, n)
		case *syntax.CaseClause:
			if inside(n, substitutions) {
				wrong(n, "bash 3.2 takes the pattern's ) for the end of $(: make it a function")
			}
			for _, item := range n.Items {
				if item.Op != syntax.Break {
					wrong(item, newer)
				}
			}
		case *syntax.Comment:
			if inside(n, substitutions) && strings.ContainsAny(n.Text, "'\"`()") {
				wrong(n, "bash 3.2 takes a quote or a parenthesis in a comment inside $( for one of the code")
			}
		case *syntax.ParamExp:
			switch {
			case n.Exp != nil && (n.Exp.Op >= syntax.UpperFirst && n.Exp.Op <= syntax.OtherParamOps):
				wrong(n, newer)
			case n.Slice != nil && n.Slice.Length != nil && strings.Contains(text(n.Slice.Length), "-"),
				n.Index != nil && strings.HasPrefix(text(n.Index), "-"),
				n.Param != nil && slices.Contains(newerVariables, n.Param.Value):
				wrong(n, newer)
			case n.Exp != nil && n.Exp.Op == syntax.AlternateUnset && n.Index != nil:
				alternatives = append(alternatives, n)
			case n.Index != nil && slices.Contains([]string{"@", "*"}, text(n.Index)) && !n.Length && n.Exp == nil &&
				!arrays[n.Param.Value] && !inside(n, alternatives):
				wrong(n, fmt.Sprintf(`with set -u, bash 3.2 fails if there is no element: ${%[1]s[@]+"${%[1]s[@]}"}`, n.Param.Value))
			}
		case *syntax.DeclClause:
			for _, a := range n.Args {
				if flags := text(a); n.Variant.Value != "export" && strings.HasPrefix(flags, "-") && strings.ContainsAny(flags, "Agnlu") {
					wrong(n, newer)
				}
			}
		case *syntax.Redirect:
			if n.Op == syntax.AppAll || n.N != nil && strings.HasPrefix(n.N.Value, "{") {
				wrong(n, newer)
			}
		case *syntax.BinaryCmd:
			if n.Op == syntax.PipeAll {
				wrong(n, newer)
			}
		case *syntax.CoprocClause:
			wrong(n, newer)
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				wrong(n, newer)
			}
		}
		return true
	})
}

// call checks a program's name and its arguments, and what it runs in turn.
func (s *shell) call(args []*syntax.Word, text func(syntax.Node) string, wrong func(syntax.Node, string),
	code func(*syntax.Word), procTested bool,
) {
	name := args[0].Lit()
	if name == "" || strings.Contains(name, "/") && !strings.HasPrefix(name, "/") || strings.Contains(name, "::") {
		return // a variable, a script of ours, a function of code-generator's
	}
	known := s.programs[name] != "" || slices.Contains(builtin, name) || s.functions[name]
	if !known {
		wrong(args[0], "is not in scripts/programs.txt")
	}
	source := text(args[0])
	for _, a := range args[1:] {
		source += " " + text(a)
	}
	for _, form := range gnu {
		switch found := form.form.FindString(source); {
		case found == "", form.program == "" && s.programs[name] != "system" && !strings.HasPrefix(found, "/"),
			form.program != "" && form.program != name, found == "/proc/" && procTested:
		default:
			wrong(args[0], fmt.Sprintf("%q: macOS does not know it, with BSD's programs, bash 3.2 and make 3.81", strings.TrimSpace(found)))
		}
	}
	rest := args[1:]
	after := func(flag string) {
		if i := slices.IndexFunc(rest, func(w *syntax.Word) bool { return w.Lit() == flag }); i >= 0 {
			rest = rest[i+1:]
		} else {
			rest = nil
		}
	}
	switch name {
	case "bash", "sh":
		if after("-c"); len(rest) > 0 {
			code(rest[0])
		}
		return
	case "trap":
		if len(rest) > 1 {
			code(rest[0])
		}
		return
	case "find":
		after("-exec")
	case "command", "env", "exec", "xargs":
		option := regexp.MustCompile(`^(-.*|[0-9]+|\w+=.*)$`) // with its number, or a variable
		for len(rest) > 0 && option.MatchString(text(rest[0])) {
			rest = rest[1:]
		}
	default:
		return
	}
	if len(rest) > 0 {
		s.call(rest, text, wrong, code, procTested)
	}
}

// readme checks the commands in a README's blocks.
func (s *shell) readme(file, text string) {
	var command strings.Builder
	fenced, console, first := false, false, 0
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced, console = !fenced, line == "```" || strings.HasPrefix(line, "```console")
			continue
		case command.Len() > 0:
			command.WriteString("\n" + line)
		case fenced && console && strings.HasPrefix(line, "$ "):
			first = i + 1
			command.WriteString(line[2:])
		default:
			continue
		}
		if !strings.HasSuffix(line, `\`) {
			s.script(file, first, command.String())
			command.Reset()
		}
	}
}

// predictions checks what the predictions run.
func (s *shell) predictions(file string, data []byte) error {
	var all []struct{ Run yaml.Node }
	if err := yaml.Unmarshal(data, &all); err != nil {
		return err
	}
	for _, p := range all {
		s.script(file, p.Run.Line, p.Run.Value)
	}
	return nil
}

// goFile checks the programs that Go code names: in exec.Command and its like, and behind bash -c.
func (s *shell) goFile(name string, files *token.FileSet, file *ast.File) {
	literal := func(e ast.Expr) (string, bool) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			value, err := strconv.Unquote(l.Value)
			return value, err == nil
		}
		return "", false
	}
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		line := files.Position(call.Pos()).Line
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Command", "CommandContext", "LookPath"}, f.Sel.Name) {
			if pkg, ok := f.X.(*ast.Ident); ok && pkg.Name == "exec" {
				program := call.Args[0]
				if f.Sel.Name == "CommandContext" {
					program = call.Args[1]
				}
				if p, ok := literal(program); ok && s.programs[p] == "" && (!strings.Contains(p, "/") || strings.HasPrefix(p, "/")) {
					s.complain("%s:%d: %s: is not in scripts/programs.txt", name, line, p)
				}
			}
		}
		for i := range max(0, len(call.Args)-2) {
			if shell, _ := literal(call.Args[i]); shell == "bash" || shell == "sh" {
				flag, _ := literal(call.Args[i+1])
				if code, ok := literal(call.Args[i+2]); ok && flag == "-c" {
					s.script(name, line, code)
				}
			}
		}
		return true
	})
}

// newerMake are what GNU make has had since 3.82.
var newerMake = regexp.MustCompile(
	`(?m)^\.ONESHELL|^\.RECIPEPREFIX|^[^\t#]*!=|\$\((file|let|intcmp|guile) |::=|^undefine|^private|^define .*=`)

// checkShell checks all that has commands, but .ci, which is for the machine of the checks.
func checkShell(s *shell) error {
	list, err := os.ReadFile("scripts/programs.txt")
	if err != nil {
		return err
	}
	s.programs = programLists(string(list))
	scripts, err := filepath.Glob("scripts/*.sh")
	if err != nil {
		return err
	}
	const lib = "scripts/lib.sh" // first: the others call its functions
	others := slices.DeleteFunc(scripts, func(name string) bool { return name == lib })
	for _, name := range append([]string{lib, "scripts/kubectl"}, others...) {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s.script(name, 1, string(data))
	}
	data, err := os.ReadFile("Makefile")
	if err != nil {
		return err
	}
	for _, at := range newerMake.FindAllIndex(data, -1) {
		s.complain("Makefile:%d: macOS's make 3.81 cannot do that", 1+bytes.Count(data[:at[0]], []byte("\n")))
	}
	texts := map[string]func(name string, data []byte) error{
		"README.md": func(name string, data []byte) error { s.readme(name, string(data)); return nil },
	}
	for _, pattern := range []string{"*/README.md", "*/deploy/README.md", "*/exercises/*/README.md", "docs/*.md"} {
		texts[pattern] = texts["README.md"]
	}
	texts["*/exercises/predictions.yaml"] = s.predictions
	for _, pattern := range slices.Sorted(maps.Keys(texts)) {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			return fmt.Errorf("no %s: %v", pattern, err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err == nil {
				err = texts[pattern](name, data)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}
