package manifest_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/exercise/manifest"
	"example.com/client-go-workbook/internal/test/testkit"
)

// root is the workbook's.
const root = "../../.."

// TestEveryExerciseIsWhole checks what belongs to each exercise. Whether its grader accepts and rejects what it must is
// tested beside it.
func TestEveryExerciseIsWhole(t *testing.T) {
	chapters, err := manifest.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, chapter := range chapters {
		for _, e := range chapter.Exercises {
			listed[e.Folder], listed[e.Answers()] = true, true
			t.Run(e.ID, func(t *testing.T) {
				for _, problem := range problems(t, root, e) {
					t.Errorf("%s: %s", e.Folder, problem)
				}
			})
		}
	}
	for _, pattern := range []string{"[0-9]*/exercises/*/exercise_test.go", "internal/exercises/*/answers/*/solution.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if folder, _ := filepath.Rel(root, filepath.Dir(file)); !listed[folder] {
				t.Errorf("%s is not in its chapter's exercises.yaml", folder)
			}
		}
	}
}

var (
	codeBlock = regexp.MustCompile("(?s)```.*?```")
	link      = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	fileName  = regexp.MustCompile("`([\\w./-]+\\.(?:go|md|yaml|sh))`")
	skeleton  = regexp.MustCompile(`(?s)^# [^\n]+\n\n.*\[exercise\.go\]\(exercise\.go\).*\n\n\*\*Why\.\*\* .*\n\n` +
		`\*\*Done when\*\*[ ,\n].*\n\nThe grader is \[\w+\.go\]\(\.\./\.\./\.\./internal/exercises/[\w-]+/\w+\.go\)\.\n$`)
	entry    = regexp.MustCompile(`\.Rejects\(t, "([^"]+)", (?:answers\.)?(\w+)`)
	noLetter = regexp.MustCompile(`[^A-Za-z0-9]`)
	source   = regexp.MustCompile(`((?:sigs\.)?k8s\.io/[\w-]+)/([\w./-]+\.go)`)
)

// problems returns what an exercise lacks.
func problems(t *testing.T, root string, e manifest.Exercise) (found []string) {
	t.Helper()
	problem := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	folder := filepath.Join(root, e.Folder)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			problem("%s is missing", name)
		}
		return string(data)
	}

	// From the exercise's folder.
	answers, _ := filepath.Rel(e.Folder, e.Answers())
	grader, _ := filepath.Rel(e.Folder, e.Grader())
	readme := read("README.md")
	first, rest, _ := strings.Cut(readme, "\n")
	if want := "# " + e.ID + " " + e.Title; first != want {
		problem("README.md begins with %q, want %q", first, want)
	}
	prose := codeBlock.ReplaceAllString(rest, "")
	if words := len(strings.Fields(prose)); words > 180 {
		problem("README.md has %d words, at most 180 are allowed", words)
	}
	chapter := filepath.Dir(filepath.Dir(folder))
	for _, found := range append(link.FindAllStringSubmatch(prose, -1), fileName.FindAllStringSubmatch(prose, -1)...) {
		name := found[1]
		if !strings.Contains(name, "://") && !source.MatchString(name) && !exists(name, folder, chapter, root) {
			problem("README.md names %s, which does not exist", name)
		}
	}

	if !skeleton.MatchString(readme) {
		problem("README.md has not the parts of the others, in their order: the task with a link to exercise.go, **Why.**, " +
			"**Done when**, the link to the grader")
	} else if link := fmt.Sprintf("[%s](%s)", filepath.Base(grader), grader); !strings.Contains(readme, link) {
		problem("README.md does not link to the grader: %s", link)
	}

	now, starter, solution := read("exercise.go"), read(answers+"/starter/exercise.go"), read(answers+"/solution.go")
	// What the learner has changed is the learner's.
	if starter != "" && now != starter && !changed(folder) {
		problem("exercise.go is not %s/starter/exercise.go", answers)
	}
	head := fmt.Sprintf("// Package exercise answers %q. README.md has the task.\n", e.Title)
	for name, text := range map[string]string{"starter/exercise.go": starter, "solution.go": solution} {
		if text != "" && !strings.HasPrefix(text, head) {
			problem("%s/%s does not begin with %q", answers, name, head)
		}
	}
	if want := e.Variable() + ".Test(t, "; !strings.Contains(read("exercise_test.go"), want) {
		problem("exercise_test.go has not %q", want)
	}
	if test := read(strings.TrimSuffix(grader, ".go") + "_test.go"); test != "" {
		found = append(found, namesOfMistakes(test, readIfThere(filepath.Join(folder, answers, "mistakes.go")))...)
	}
	if is := strings.Contains(readIfThere(filepath.Join(folder, grader)), "\n\tCluster: "); is != e.Cluster {
		problem("the manifest says cluster: %v, and the grader %v", e.Cluster, is)
	}

	if len(e.Hints) < 2 {
		problem("it has %d hints, at least 2 are needed", len(e.Hints))
	}
	cited := source.FindAllStringSubmatch(e.Why, -1)
	if len(cited) == 0 {
		problem("why names no source file, such as k8s.io/client-go/tools/cache/reflector.go")
	}
	for _, c := range cited {
		if dir, err := testkit.Module("../../..", c[1]); err != nil {
			problem("why names %s: %v", c[0], err)
		} else if !exists(c[2], dir) {
			problem("why names %s, which does not exist", c[0])
		}
	}
	return found
}

// namesOfMistakes returns the mistakes in a grader's test whose name, such as "asks once", is not the name of their function,
// AsksOnce, and functions without a comment that says what is wrong. 6.2 has a package for each mistake, not a function.
func namesOfMistakes(test, mistakes string) (found []string) {
	rejected := map[string]bool{}
	for _, entry := range entry.FindAllStringSubmatch(test, -1) {
		name, function := entry[1], entry[2]
		rejected[function] = true
		if !strings.EqualFold(noLetter.ReplaceAllString(name, ""), function) || name[0] < 'a' || name[0] > 'z' {
			found = append(found, fmt.Sprintf("the mistake %q has the function %s", name, function))
		}
	}
	if names := strings.Count(test, ".Rejects(t, "); names < 3 || names != len(rejected) {
		found = append(found, fmt.Sprintf("the test has %d mistakes with %d names, at least 3 are needed", len(rejected), names))
	}
	if mistakes == "" {
		return found
	}
	file, err := parser.ParseFile(token.NewFileSet(), "mistakes.go", mistakes, parser.ParseComments)
	if err != nil {
		return append(found, err.Error())
	}
	for name, object := range file.Scope.Objects {
		if !ast.IsExported(name) {
			continue
		}
		var comment *ast.CommentGroup
		switch declaration := object.Decl.(type) {
		case *ast.FuncDecl:
			comment = declaration.Doc
		case *ast.ValueSpec:
			for _, d := range file.Decls {
				if group, ok := d.(*ast.GenDecl); ok && group.Specs[0] == declaration {
					comment = group.Doc
				}
			}
		}
		if !rejected[name] || !strings.HasPrefix(comment.Text(), name+" ") {
			found = append(found, fmt.Sprintf("mistakes.go: %s has no comment that says the mistake, or no grader", name))
		}
	}
	return found
}

func readIfThere(name string) string {
	data, _ := os.ReadFile(name)
	return string(data)
}

// exists reports whether one of the folders has the file.
func exists(name string, folders ...string) bool {
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return true
		}
	}
	return false
}

// changed reports whether git says that exercise.go is not as it was committed.
func changed(folder string) bool {
	output, err := exec.Command("git", "-C", folder, "status", "--porcelain", "exercise.go").Output()
	return err == nil && len(bytes.TrimSpace(output)) > 0
}

func TestAnExerciseThatIsNotWholeIsFound(t *testing.T) {
	why := "See k8s.io/client-go/tools/cache/reflector.go."
	const head = "// Package exercise answers \"A title\". README.md has the task.\n"
	whole := `
== 01-list/main.go
== 01-list/exercises/01-a/README.md
# 1.1 A title

Write [exercise.go](exercise.go), as in ` + "`main.go`" + `.

**Why.** Because.

**Done when** it is done.

The grader is [a.go](../../../internal/exercises/01-list/a.go).
== 01-list/exercises/01-a/exercise.go
` + head + `
== 01-list/exercises/01-a/exercise_test.go
func TestExercise(t *testing.T) { graders.A.Test(t, exercise.Ask) }
== internal/exercises/01-list/a.go
package list
== internal/exercises/01-list/a_test.go
func TestA(t *testing.T) {
	e.Rejects(t, "asks once", answers.AsksOnce, "one")
	e.Rejects(t, "asks the others' server", answers.AsksTheOthersServer, "others")
	e.Rejects(t, "asks twice", answers.AsksTwice, "two")
}
== internal/exercises/01-list/answers/01-a/starter/exercise.go
` + head + `
== internal/exercises/01-list/answers/01-a/solution.go
` + head + `
== internal/exercises/01-list/answers/01-a/mistakes.go
package exercise

// AsksOnce does not ask again.
func AsksOnce() {}
`
	replaced := func(old, new string) string { return strings.Replace(whole, old, new, 1) }
	other := replaced("/exercise.go\n"+head, "/exercise.go\n"+head+"// Other\n")
	for name, test := range map[string]struct {
		files, why string
		hints      int
		want       string
	}{
		"whole":             {whole, why, 2, ""},
		"another title":     {replaced("# 1.1 A title", "# 1.1 Another"), why, 2, `README.md begins with "# 1.1 Another"`},
		"a link":            {replaced("Write", "Write [it](exercises.go) in"), why, 2, "README.md names exercises.go"},
		"a file":            {replaced("`main.go`", "`watch.go`"), why, 2, "README.md names watch.go"},
		"many words":        {replaced("Write", strings.Repeat("Write ", 180)), why, 2, "README.md has 195 words"},
		"no reason":         {replaced("**Why.**", "Why?"), why, 2, "README.md has not the parts of the others"},
		"no end":            {replaced("**Done when**", "Done when"), why, 2, "README.md has not the parts of the others"},
		"another starter":   {other, why, 2, "exercise.go is not ../../../internal/exercises/01-list/answers/01-a/starter/exercise.go"},
		"no starter":        {replaced("starter/exercise.go", "starter/other.go"), why, 2, "starter/exercise.go is missing"},
		"another head":      {replaced("solution.go\n// Package", "solution.go\n// The package"), why, 2, "solution.go does not begin"},
		"no solution":       {replaced("solution.go", "answer.go"), why, 2, "solution.go is missing"},
		"two mistakes":      {replaced("\te.Rejects(t, \"asks twice\", answers.AsksTwice, \"two\")\n", ""), why, 2, "has 2 mistakes"},
		"another name":      {replaced("asks twice", "asks again"), why, 2, `the mistake "asks again" has the function AsksTwice`},
		"no comment":        {replaced("// AsksOnce does not", "// It does not"), why, 2, "AsksOnce has no comment that says the mistake"},
		"no grader":         {replaced("01-list/a.go\npackage", "01-list/b.go\npackage"), why, 2, "README.md names ../../../internal"},
		"another grader":    {replaced("[a.go](", "[b.go]("), why, 2, "README.md does not link to the grader"},
		"a grader unasked":  {replaced("graders.A.Test", "graders.B.Test"), why, 2, "exercise_test.go has not"},
		"a cluster":         {replaced("package list\n", "package list\n\tCluster: true,\n"), why, 2, "false, and the grader true"},
		"one hint":          {whole, why, 1, "it has 1 hints"},
		"no source":         {whole, "See the reflector.", 2, "why names no source file"},
		"a wrong source":    {whole, "See k8s.io/client-go/none.go.", 2, "why names k8s.io/client-go/none.go, which does not exist"},
		"an unknown module": {whole, "See k8s.io/none/none.go.", 2, "neither the workbook nor its local cluster uses k8s.io/none"},
	} {
		t.Run(name, func(t *testing.T) {
			e := manifest.Exercise{ID: "1.1", Folder: "01-list/exercises/01-a", Name: "01-a", Title: "A title", Why: test.why}
			e.Hints = make([]string, test.hints)
			got := strings.Join(problems(t, workbook(t, test.files), e), "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}
