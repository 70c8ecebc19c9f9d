package exercises_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/exercises"
)

// root is the workbook's.
const root = "../.."

// TestEveryExerciseIsWhole checks what belongs to each exercise. Whether its grader accepts and rejects what it must is
// tested beside it.
func TestEveryExerciseIsWhole(t *testing.T) {
	chapters, err := exercises.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, chapter := range chapters {
		for _, e := range chapter.Exercises {
			listed[e.Folder] = true
			t.Run(e.ID, func(t *testing.T) {
				for _, problem := range problems(t, root, e) {
					t.Errorf("%s: %s", e.Folder, problem)
				}
			})
		}
	}
	graders, err := filepath.Glob(filepath.Join(root, "[0-9]*", "exercises", "*", "exercise_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, grader := range graders {
		if folder, _ := filepath.Rel(root, filepath.Dir(grader)); !listed[folder] {
			t.Errorf("%s is not in its chapter's exercises.yaml", folder)
		}
	}
}

var (
	codeBlock = regexp.MustCompile("(?s)```.*?```")
	link      = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	fileName  = regexp.MustCompile("`([\\w./-]+\\.(?:go|md|yaml|sh))`")
	source    = regexp.MustCompile(`((?:sigs\.)?k8s\.io/[\w-]+)/([\w./-]+\.go)`)
)

// problems returns what an exercise lacks.
func problems(t *testing.T, root string, e exercises.Exercise) (found []string) {
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

	readme := read("README.md")
	first, rest, _ := strings.Cut(readme, "\n")
	if want := "# " + e.ID + " " + e.Title; first != want {
		problem("README.md begins with %q, want %q", first, want)
	}
	prose := codeBlock.ReplaceAllString(rest, "")
	if words := len(strings.Fields(prose)); words > 150 {
		problem("README.md has %d words, at most 150 are allowed", words)
	}
	chapter := filepath.Dir(filepath.Dir(folder))
	for _, found := range append(link.FindAllStringSubmatch(prose, -1), fileName.FindAllStringSubmatch(prose, -1)...) {
		name := found[1]
		if !strings.Contains(name, "://") && !source.MatchString(name) && !exists(name, folder, chapter, root) {
			problem("README.md names %s, which does not exist", name)
		}
	}

	_ = read("exercise_test.go")
	// What the learner has changed is the learner's.
	if now, starter := read("exercise.go"), read("starter/exercise.go"); now != starter && !changed(folder) {
		problem("exercise.go is not starter/exercise.go")
	}
	for _, answer := range []string{"solution", "another"} {
		if files, _ := filepath.Glob(filepath.Join(folder, answer, "*")); len(files) == 0 {
			problem("%s is missing", answer)
		}
	}
	if attempts, _ := filepath.Glob(filepath.Join(folder, "attempts", "*", "*")); len(attempts) < 3 {
		problem("it has %d attempts, at least 3 are needed", len(attempts))
	}

	if len(e.Hints) < 2 {
		problem("it has %d hints, at least 2 are needed", len(e.Hints))
	}
	cited := source.FindAllStringSubmatch(e.Why, -1)
	if len(cited) == 0 {
		problem("why names no source file, such as k8s.io/client-go/tools/cache/reflector.go")
	}
	for _, c := range cited {
		if dir := module(c[1]); dir == "" {
			problem("why names the module %s, which is not on this machine", c[1])
		} else if !exists(c[2], dir) {
			problem("why names %s, which does not exist", c[0])
		}
	}
	return found
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

var modules = map[string]string{}

// module returns the folder of a module that the workbook or its local cluster uses, or nothing.
func module(path string) string {
	if dir, known := modules[path]; known {
		return dir
	}
	for _, user := range []string{root, filepath.Join(root, "scripts", "localcluster")} {
		output, _ := exec.Command("go", "-C", user, "list", "-m", "-f", "{{.Dir}}", path).Output()
		if modules[path] = strings.TrimSpace(string(output)); modules[path] != "" {
			break
		}
	}
	return modules[path]
}

func TestAnExerciseThatIsNotWholeIsFound(t *testing.T) {
	why := "See k8s.io/client-go/tools/cache/reflector.go."
	whole := `
== 01-list/main.go
== 01-list/exercises/01-a/README.md
# 1.1 A title

Write [exercise.go](exercise.go), as in ` + "`main.go`" + `.
== 01-list/exercises/01-a/exercise.go
package exercise
== 01-list/exercises/01-a/exercise_test.go
== 01-list/exercises/01-a/starter/exercise.go
package exercise
== 01-list/exercises/01-a/solution/exercise.go
== 01-list/exercises/01-a/another/exercise.go
== 01-list/exercises/01-a/attempts/a/exercise.go
== 01-list/exercises/01-a/attempts/b/exercise.go
== 01-list/exercises/01-a/attempts/c/exercise.go
`
	replaced := func(old, new string) string { return strings.Replace(whole, old, new, 1) }
	const solution = "== 01-list/exercises/01-a/solution"
	other := replaced("package exercise\n"+solution, "package a\n"+solution)
	for name, test := range map[string]struct {
		files, why string
		hints      int
		want       string
	}{
		"whole":             {whole, why, 2, ""},
		"another title":     {replaced("A title", "Another"), why, 2, `README.md begins with "# 1.1 Another"`},
		"a link":            {replaced("(exercise.go)", "(exercises.go)"), why, 2, "README.md names exercises.go"},
		"a file":            {replaced("`main.go`", "`watch.go`"), why, 2, "README.md names watch.go"},
		"many words":        {replaced("Write", strings.Repeat("Write ", 150)), why, 2, "README.md has 154 words"},
		"another starter":   {other, why, 2, "exercise.go is not starter/exercise.go"},
		"no solution":       {replaced("solution/", "solutions/"), why, 2, "solution is missing"},
		"no other solution": {replaced("another/", "others/"), why, 2, "another is missing"},
		"two attempts":      {replaced("attempts/c", "c"), why, 2, "it has 2 attempts"},
		"no grader":         {replaced("exercise_test.go", "grader.go"), why, 2, "exercise_test.go is missing"},
		"one hint":          {whole, why, 1, "it has 1 hints"},
		"no source":         {whole, "See the reflector.", 2, "why names no source file"},
		"a wrong source":    {whole, "See k8s.io/client-go/none.go.", 2, "why names k8s.io/client-go/none.go, which does not exist"},
		"an unknown module": {whole, "See k8s.io/none/none.go.", 2, "why names the module k8s.io/none"},
	} {
		t.Run(name, func(t *testing.T) {
			e := exercises.Exercise{ID: "1.1", Folder: "01-list/exercises/01-a", Title: "A title", Why: test.why}
			e.Hints = make([]string, test.hints)
			got := strings.Join(problems(t, workbook(t, test.files), e), "\n")
			if (test.want == "") != (got == "") || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}
