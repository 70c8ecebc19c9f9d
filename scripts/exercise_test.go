package scripts_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"example.com/client-go-workbook/internal/exercise/manifest"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// exerciseWorkbook makes a workbook with these scripts and small exercises of its own: 1.1, 1.2, prediction 2.A, and 2.1,
// which needs a cluster. Its cluster is a file, which cluster-up.sh makes.
func exerciseWorkbook(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "my workbook")
	// Not all of package grade: without client-go, a grader is linked in a tenth of the time.
	for _, name := range []string{
		"Makefile", ".gitignore", "go.mod", "go.sum", "internal/test/testkit/all.go", "internal/test/testkit/source.go",
		"internal/exercise/grade/clock.go", "internal/exercise/grade/grade.go", "internal/exercise/grade/goroutine.go",
		"internal/exercise/grade/run.go", "internal/exercise/grade/t.go",
	} {
		data := testkit.Must(os.ReadFile(filepath.Join("..", name)))(t)
		write(t, filepath.Join(root, name), string(data))
	}
	for _, folder := range []string{"scripts", "internal/exercise/manifest"} {
		copyFolder(t, filepath.Join(root, folder), filepath.Join("..", folder))
	}
	write(t, filepath.Join(root, "scripts", "cluster-status.sh"), "#!/bin/sh\ntest -f up\n")
	write(t, filepath.Join(root, "scripts", "cluster-up.sh"), "#!/bin/sh\necho The cluster is up.\ntouch up\n")

	const entry = "- name: %s\n  title: %s\n  cluster: %v\n  hints: [Look at the %s., Look again.]\n" +
		"  why: It is twice as much, as in `k8s.io/x`.\n"
	write(t, filepath.Join(root, "01-listwatch", "exercises", "exercises.yaml"),
		fmt.Sprintf(entry, "01-double", "Double a number", false, "number")+
			fmt.Sprintf(entry, "02-again", "Double it again", false, "other"))
	write(t, filepath.Join(root, "02-informer", "exercises", "exercises.yaml"),
		fmt.Sprintf(entry, "01-cluster", "Double it on a cluster", true, "cluster"))
	write(t, filepath.Join(root, "02-informer", "exercises", "predictions.yaml"), `
- id: 2.A
  question: What is printed?
  choices:
    - {word: nothing, text: Nothing at all, reason: The program is quiet while it waits.}
    - {word: hello, text: A greeting, reason: The program greets first.}
  answer: hello
  run: echo hello from the program
  prints: hello from
`)
	addExercise(t, root, "01-listwatch/exercises/01-double")
	addExercise(t, root, "01-listwatch/exercises/02-again")
	addExercise(t, root, "02-informer/exercises/01-cluster")
	return root
}

func addExercise(t *testing.T, root, folder string) {
	t.Helper()
	e := manifest.Exercise{Folder: folder}
	write(t, filepath.Join(root, folder, "README.md"), "# Double a number\n\nThe task is in exercise.go.\n")
	write(t, filepath.Join(root, e.File()), double("n"))
	write(t, filepath.Join(root, e.Starter()), double("n"))
	write(t, filepath.Join(root, e.Solution()), double("n + n"))
	write(t, filepath.Join(root, folder, "exercise_test.go"), `package exercise_test

import (
	"testing"

	exercise "example.com/client-go-workbook/`+folder+`"
	graders "example.com/client-go-workbook/`+filepath.ToSlash(e.Graders())+`"
)

func TestExercise(t *testing.T) { graders.`+e.Variable()+`.Test(t, exercise.Double) }
`)
	write(t, filepath.Join(root, e.Grader()), `package graders

import (
	"fmt"

	"example.com/client-go-workbook/internal/exercise/grade"
)

var `+e.Variable()+` = grade.Exercise[func(int) int]{
	Grade: func(t *grade.T, double func(int) int) {
		n := 3 + t.Rand.IntN(100)
		if got := double(n); got != 2*n {
			t.Reject(fmt.Sprint(2*n), fmt.Sprint(got), "the operators of Go")
		}
	},
}
`)
}

// double is an answer that returns the expression.
func double(expression string) string {
	return "package exercise\n\n// Double returns n times two.\nfunc Double(n int) int { return " + expression + " }\n"
}

// make runs make in a workbook, as a learner does, without a terminal.
func makeIn(t *testing.T, root string, arguments ...string) result {
	t.Helper()
	return run(t, []string{"CLUSTER_DIR="}, "make", append([]string{"-C", root, "-s", "--no-print-directory"}, arguments...)...)
}

func contains(t *testing.T, got result, code int, want ...string) {
	t.Helper()
	if got.code != code {
		t.Errorf("exit code %d, want %d: %s", got.code, code, got.stderr)
	}
	for _, want := range want {
		if !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%q is not in:\n%s%s", want, got.stdout, got.stderr)
		}
	}
}

func TestExercise(t *testing.T) {
	t.Parallel()
	root := exerciseWorkbook(t)
	file := filepath.Join(root, "01-listwatch", "exercises", "01-double", "exercise.go")

	t.Run("an untouched one is graded, and says where the task is", func(t *testing.T) {
		got := makeIn(t, root, "exercise")
		contains(t, got, 0, "not solved 1.1 Double a number\n  expected  ", "\n  look at   the operators of Go\n",
			"Read 01-listwatch/exercises/01-double/README.md, edit exercise.go beside it.")
		if strings.Count(got.stdout, "\n") > 6 { // where compiling takes long, one line in stderr says so
			t.Errorf("too many words: %+v", got)
		}
		if got := run(t, nil, filepath.Join(root, "scripts", "exercise.sh"), "grade", "1.1"); got.code != 1 {
			t.Errorf("the script's exit code is %d, want 1", got.code)
		}
	})
	t.Run("one that does not compile", func(t *testing.T) {
		for answer, want := range map[string]string{
			double("m"):   "\n  exercise.go:4:33: undefined: m\n",
			double("n n"): "\n  exercise.go:4:",
			strings.ReplaceAll(double("n"), "Double", "Twice"): "\n  exercise_test.go:10:67: undefined: exercise.Double\n  The grader cannot use your answer: ",
			"package exercise\n\nimport \"no/such\"\n":         "\n  exercise.go:3:8: package no/such is not in std",
			double(strings.Repeat("x + ", 40) + "n"):           "\n  exercise.go:4:33: undefined: x\n",
		} {
			write(t, file, answer)
			got := makeIn(t, root, "exercise", "1.1")
			contains(t, got, 0, "does not compile 1.1 Double a number"+want)
			if strings.Count(got.stdout, "\n") > 8 || strings.Contains(got.stdout, "FAIL") {
				t.Errorf("for %s\nit prints\n%s", answer, got.stdout)
			}
		}
	})
	t.Run("hints come one by one, and stay", func(t *testing.T) {
		contains(t, makeIn(t, root, "hint"), 0, "hint 1 of 2: Look at the number.\n") // of the next exercise
		contains(t, makeIn(t, root, "hint", "1.1"), 0, "hint 1 of 2: Look at the number.\nhint 2 of 2: Look again.\n")
		contains(t, makeIn(t, root, "hint", "1.1"), 0, "hint 2 of 2: Look again.\n")
	})
	t.Run("the solution waits until it is solved", func(t *testing.T) {
		write(t, file, double("n"))
		contains(t, makeIn(t, root, "solution", "1.1"), 2, "1.1 is not solved yet: make hint 1.1 helps. FORCE=1 make solution 1.1 shows")
		contains(t, makeIn(t, root, "solution", "1.1", "FORCE=1"), 0,
			"internal/exercises/01-listwatch/answers/01-double/solution.go\n", "return n + n")
		write(t, file, double("2 * n"))
		contains(t, makeIn(t, root, "solution", "1.1"), 0, "1.1 has changed: grading it.\n", "1.1 is solved.\n", "return n + n")
	})
	t.Run("a solved one says why, and what is next", func(t *testing.T) {
		contains(t, makeIn(t, root, "exercise", "1.1"), 0, "solved 1.1 Double a number\nIt is twice as much, as in `k8s.io/x`.\n\n"+
			"Next: 1.2 Double it again\n      01-listwatch/exercises/02-again/README.md\n")
		contains(t, makeIn(t, root, "exercise"), 0, "not solved 1.2 Double it again\n")
		contains(t, makeIn(t, root, "progress"), 0, "1 listwatch    ##########----------  1 of  2\n",
			"2 informer     --------------------  0 of  1, 0 of 1 predictions\n1 of 3 exercises are solved.\n\nNext: 1.2")
	})
	t.Run("progress grades only what has changed", func(t *testing.T) {
		env := []string{fakes(t, map[string]string{"go": "exit 9"})}
		again := manifest.Exercise{Folder: "01-listwatch/exercises/02-again"}
		write(t, filepath.Join(root, again.Solution()), double("2 * n")) // decides nothing
		got := run(t, env, filepath.Join(root, "scripts", "exercise.sh"), "progress")
		contains(t, got, 0, "1 of 3 exercises are solved.")
		write(t, filepath.Join(root, again.File()), double("3 * n"))
		contains(t, makeIn(t, root, "progress"), 0, "1.2 has changed: grading it.\n",
			"1.2 is not solved: make exercise 1.2 says why.\n", "1 of 3 exercises are solved.")
		grader := filepath.Join(root, again.Grader())
		write(t, grader, string(testkit.Must(os.ReadFile(grader))(t))+"// Another one.\n")
		contains(t, makeIn(t, root, "progress"), 0, "1.2 has changed: grading it.\n")
		write(t, filepath.Join(root, again.File()), double("n"))
		write(t, file, double("3 * n"))
	})
	t.Run("what is changed for practice stays solved until it is reset", func(t *testing.T) {
		contains(t, makeIn(t, root, "progress"), 0, "1 of 3 exercises are solved.\nChanged since then: 1.1.\n", "Next: 1.2")
		contains(t, makeIn(t, root, "exercise", "1.1"), 0, "not solved 1.1", "1.1 stays solved until make reset 1.1.\n")
		contains(t, makeIn(t, root, "solution", "1.1"), 0, "return n + n")
		write(t, file, double("2 * n"))
		if got := makeIn(t, root, "progress"); strings.Contains(got.stdout, "Changed") || got.stderr != "" {
			t.Errorf("it is as it was accepted: %+v", got)
		}
	})
	t.Run("reset keeps the old files", func(t *testing.T) {
		helper := filepath.Join(filepath.Dir(file), "helper.go")
		write(t, helper, "package exercise\n\nvar Double = 0\n")
		contains(t, makeIn(t, root, "reset", "1.1"), 0, "Your file is kept as 01-listwatch/exercises/01-double/exercise.go.1.\n",
			"Your file is kept as 01-listwatch/exercises/01-double/helper.go.1.\n")
		if _, err := os.Stat(helper); err == nil {
			t.Error("helper.go is still there")
		}
		kept, _ := os.ReadFile(file + ".1")
		now, _ := os.ReadFile(file)
		if string(kept) != double("2 * n") || string(now) != double("n") {
			t.Errorf("kept %q, and now it is %q", kept, now)
		}
		contains(t, makeIn(t, root, "reset", "1.1"), 0, "1.1 is as it was in the beginning: ")
		contains(t, makeIn(t, root, "progress"), 0, "0 of 3 exercises are solved.\n")
		contains(t, makeIn(t, root, "solution", "1.1"), 2, "1.1 is not solved yet")
		write(t, file, double("2 * n"))
		contains(t, makeIn(t, root, "reset", "1.1"), 0, "exercise.go.2.\n")
	})
	t.Run("the cluster is started for the one that needs it", func(t *testing.T) {
		if _, err := os.Stat(filepath.Join(root, "up")); err == nil {
			t.Fatal("it was started before")
		}
		contains(t, makeIn(t, root, "exercise", "2.1"), 0,
			"This needs the cluster, which is not running: starting it, as make cluster does.\nThe cluster is up.\n", "not solved 2.1")
		if got := makeIn(t, root, "exercise", "2.1"); strings.Contains(got.stderr, "starting") {
			t.Errorf("it is started again: %s", got.stderr)
		}
	})
	t.Run("what is not there", func(t *testing.T) {
		contains(t, makeIn(t, root, "exercise", "9.1"), 2, "There is no exercise 9.1. Exercises: 1.1 to 1.2, 2.1 to 2.1, 2.A.\n")
		contains(t, run(t, nil, filepath.Join(root, "scripts", "exercise.sh"), "hint", "1.1", "2.1"), 2, "make exercise, hint, solution, ")
		contains(t, run(t, nil, "make", "-C", root, "-s", "watch"), 2, "make watch needs a terminal")
		contains(t, makeIn(t, root, "hint", "2.a"), 2, "2.A is a prediction: make exercise 2.A asks it.\n")
		contains(t, makeIn(t, root, "hint", "1.1", "2.1"), 2, "make hint takes one word, the number of an exercise: make hint 2.3")
	})
}

// What the grader cannot judge, because it does not come to its own code.
func TestExerciseThatIsNotGraded(t *testing.T) {
	testkit.All(t, "compiles exercises again and again")
	t.Parallel()
	root := exerciseWorkbook(t)
	folder := filepath.Join("01-listwatch", "exercises", "01-double")
	e := manifest.Exercise{Folder: folder}
	file := filepath.Join(root, folder, "exercise.go")
	git(t, root, "init", "-q", "-b", "main")
	git(t, root, "add", "-A")
	git(t, root, "commit", "-q", "-m", "one")
	grade := func(want ...string) {
		t.Helper()
		got := makeIn(t, root, "exercise", "1.1")
		contains(t, got, 0, want...)
		if strings.Count(got.stdout, "\n") > 4 {
			t.Errorf("too many words: %s", got.stdout)
		}
	}
	for more, want := range map[string]string{
		"func init() { panic(\"boom\") }\n":       "panic: boom (exercise.go:6), in init() or a package variable\n",
		"var n = []int{}[len(\"\")]\n":            "panic: runtime error: index out of range [0] with length 0\n            (exercise.go:6), in init() ",
		"func init() { println(); os.Exit(0) }\n": "init() or a package variable ends the program, with exit status 0\n            (exercise.go:8)\n",
	} {
		answer := double("2 * n") + "\n" + more
		if strings.Contains(more, "os.") {
			answer = strings.Replace(answer, "\n\n", "\n\nimport \"os\"\n\n", 1)
		}
		write(t, file, answer)
		grade("not solved 1.1 Double a number\n  seen      ", want)
	}
	write(t, file, double("2 * n"))
	helper := filepath.Join(root, folder, "helper.go")
	write(t, helper, "package main\n")
	got := makeIn(t, root, "exercise", "1.1")
	contains(t, got, 0, "  found packages exercise (exercise.go) and main (helper.go)")
	if strings.Contains(got.stdout, "keep the names") {
		t.Errorf("the name of the package is wrong, and not those of the answer: %s", got.stdout)
	}
	if err := os.Remove(helper); err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{filepath.Join(folder, "exercise_test.go"), e.Grader(), e.Answers(), e.Graders()} {
		if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
		grade(" is missing. This brings it back:\n  git checkout HEAD " + path + "\n")
		git(t, root, "checkout", "HEAD", path)
	}
	if err := os.Remove(filepath.Join(root, e.Solution())); err != nil {
		t.Fatal(err)
	}
	contains(t, makeIn(t, root, "solution", "1.1", "FORCE=1"), 2, "git checkout HEAD "+e.Solution()+"\n")
	git(t, root, "checkout", "HEAD", e.Solution())
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	grade("  exercise.go is missing: make reset 1.1 brings it back\n")
	contains(t, makeIn(t, root, "reset", "1.1"), 0, "1.1 is as it was in the beginning")

	test := filepath.Join(folder, "exercise_test.go")
	write(t, filepath.Join(root, test), "package exercise\n")
	contains(t, makeIn(t, root, "exercise", "1.1"), 2, "1.1 cannot be graded", "no tests to run")
	git(t, root, "checkout", "HEAD", test)
	for _, path := range []string{test, e.Grader()} {
		source := testkit.Must(os.ReadFile(filepath.Join(root, path)))(t)
		write(t, filepath.Join(root, path), string(source)+"// Another one.\n")
		contains(t, makeIn(t, root, "exercise", "1.1"), 0,
			"  The grader is not the one of git. This brings that back:\n  git checkout HEAD "+path)
		git(t, root, "checkout", "HEAD", path)
	}

	t.Run("on a machine that is too busy", func(t *testing.T) {
		grader, again := filepath.Join(root, e.Grader()), filepath.Join(root, "01-listwatch", "exercises", "02-again", "exercise.go")
		source := string(testkit.Must(os.ReadFile(grader))(t))
		source = strings.Replace(source, "\t\"fmt\"\n", "\t\"fmt\"\n\t\"time\"\n", 1)
		write(t, grader, strings.Replace(source, "\tGrade:", "\tTimeout: 100 * time.Millisecond,\n\tGrade:", 1))
		write(t, again, double("2 * n"))
		write(t, file, `package exercise

import "syscall"

// Double stops its own process: no machine is as busy as that.
func Double(n int) int {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	for { // the signal stops this thread last
	}
}
`)
		record := filepath.Join(root, ".progress", "01-listwatch", "01-double.json")
		before := testkit.Must(os.ReadFile(record))(t)
		const busy = "1.1 could not be graded: the machine was too busy: in 2s the answer got "
		got := makeIn(t, root, "exercise", "1.1")
		contains(t, got, 0, busy, "make exercise 1.1, or r, grades it again.\n")
		if got.stdout != "" || strings.Count(got.stderr, "\n") > 2 { // one more where compiling takes long
			t.Errorf("too many words: %+v", got)
		}
		if got := run(t, nil, filepath.Join(root, "scripts", "exercise.sh"), "grade", "1.1"); got.code != 4 {
			t.Errorf("the script's exit code is %d, want 4", got.code)
		}
		got = makeIn(t, root, "progress")
		contains(t, got, 0, busy, "1 of 3 exercises are solved.\n", "Next: 1.1")
		if strings.Count(got.stderr, busy) != 1 {
			t.Errorf("it is graded more than once: %s", got.stderr)
		}
		if after := testkit.Must(os.ReadFile(record))(t); !bytes.Equal(after, before) {
			t.Errorf("it is recorded: %s", after)
		}
	})
	t.Run("without git", func(t *testing.T) { // as a download
		if err := os.RemoveAll(filepath.Join(root, ".git")); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{filepath.Join(folder, "exercise_test.go"), e.Grader(), e.Answers()} {
			away := filepath.Join(root, path)
			if err := os.Rename(away, away+".away"); err != nil {
				t.Fatal(err)
			}
			grade(filepath.Base(path)+" is missing, and git has none here: fatal: not a git",
				"\n  Cure that, or download the workbook again.\n")
			if err := os.Rename(away+".away", away); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestExerciseWithADataRace(t *testing.T) {
	t.Parallel()
	root := exerciseWorkbook(t)
	write(t, filepath.Join(root, "01-listwatch", "exercises", "01-double", "exercise.go"), `package exercise

import "sync"

func Double(n int) (sum int) {
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { sum += n })
	}
	group.Wait()
	return sum
}
`)
	makeIn(t, root, "progress") // builds the program, while there may be a compiler
	contains(t, run(t, []string{"RACE=1", "CC=no-compiler"}, filepath.Join(root, "scripts", "exercise.sh"), "grade", "1.1"), 3,
		`RACE is set, and its C compiler cannot be used: exec: "no-compiler": executable file not found`)
	testkit.All(t, "compiles client-go for the race detector")
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no C compiler")
	}
	contains(t, makeIn(t, root, "exercise", "1.1", "RACE=1"), 0, "not solved 1.1", "seen      a data race (exercise.go:8)")
}

func git(t *testing.T, root string, arguments ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@b.c"}, arguments...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1") // no signatures, no hooks
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", arguments, err, output)
	}
}

func TestPrediction(t *testing.T) {
	t.Parallel()
	root := exerciseWorkbook(t)
	contains(t, makeIn(t, root, "exercise", "2.A", "ANSWER=b"), 0, "This needs the cluster",
		"$ echo hello from the program\nhello from the program\n", "right It is \"hello\": The program greets first.\n")
	contains(t, makeIn(t, root, "progress"), 0, "1 of 1 predictions")
	contains(t, makeIn(t, root, "exercise", "2.a", "ANSWER=Nothing"), 0,
		"wrong You said \"nothing\". The program is quiet while it waits.\nIt is \"hello\": The program greets first.\n")
	contains(t, makeIn(t, root, "exercise", "2.A", "ANSWER=z"), 2, "\"z\" is none of the choices of 2.A")
	contains(t, makeIn(t, root, "exercise", "1.1", "ANSWER=b"), 2, "1.1 is no prediction")
	contains(t, makeIn(t, root, "exercise", "2.A"), 2, "What is printed?\n  a  nothing    Nothing at all\n", "make exercise 2.A ANSWER=a\n")

	ask := func(input string) result {
		exported := []string{"BASH_FUNC_echo%%=() { true; }"} // a function of the reader's shell
		cmd := command(exported, filepath.Join(root, "scripts", "exercise.sh"), "grade", "2.A")
		cmd.Stdin = strings.NewReader(input)
		output, _ := cmd.CombinedOutput()
		return result{stdout: string(output), code: cmd.ProcessState.ExitCode()}
	}
	contains(t, ask("z\nhello\n"), 0, "\"z\" is none of the choices: ", "right It is \"hello\"")
	contains(t, ask("\n"), 0, "Next: 1.1")

	write(t, filepath.Join(root, "02-informer", "exercises", "predictions.yaml"), `
- {id: 2.A, question: Q, answer: ab, run: echo nothing, prints: hello, choices: [{word: ab, text: A, reason: R}]}
`)
	contains(t, makeIn(t, root, "exercise", "2.A", "ANSWER=a"), 2, "has not printed \"hello\", so it shows nothing")

	write(t, filepath.Join(root, "02-informer", "exercises", "predictions.yaml"), `
- {id: 2.A, question: Q, answer: ab, run: exit 1, prints: hello, notOnKind: Not so., choices: [{word: ab, text: A, reason: R}]}
`)
	contains(t, makeIn(t, root, "exercise", "2.A", "ANSWER=a"), 2, "the command has failed")
	write(t, filepath.Join(root, "scripts", "cluster-status.sh"), "#!/bin/sh\necho The kind cluster is up: here.\n")
	contains(t, makeIn(t, root, "exercise", "2.A", "ANSWER=a"), 0, "A kind cluster does not show this: Not so.\n", "It is \"ab\"")
}

// A learner upgrades: what is solved stays solved, although numbers and graders change. Another clone knows nothing of it.
func TestExerciseAfterAnUpgrade(t *testing.T) {
	testkit.All(t, "compiles exercises again and again")
	t.Parallel()
	origin := exerciseWorkbook(t)
	git(t, origin, "init", "-q", "-b", "main")
	git(t, origin, "add", "-A")
	git(t, origin, "commit", "-q", "-m", "one")
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	git(t, origin, "clone", "-q", origin, first)
	git(t, origin, "clone", "-q", origin, second)

	again := filepath.Join("01-listwatch", "exercises", "02-again", "exercise.go")
	write(t, filepath.Join(first, again), double("2 * n"))
	write(t, filepath.Join(second, again), double("3 * n"))
	results := make(chan result, 2)
	for _, root := range []string{first, second} { // at once
		go func() {
			cmd := command([]string{"CLUSTER_DIR="}, filepath.Join(root, "scripts", "exercise.sh"), "grade", "1.2")
			_ = cmd.Run()
			results <- result{stdout: root, code: cmd.ProcessState.ExitCode()}
		}()
	}
	for range 2 {
		if got := <-results; (got.code == 0) != (got.stdout == first) {
			t.Errorf("exit code %d in %s", got.code, got.stdout)
		}
	}
	contains(t, makeIn(t, first, "exercise", "1.2"), 0, "solved 1.2", "Next: 2.1") // the next one, though 1.1 is open

	manifest := filepath.Join(origin, "01-listwatch", "exercises", "exercises.yaml")
	old := testkit.Must(os.ReadFile(manifest))(t)
	write(t, manifest, "- {name: 00-new, title: A new one, hints: [A, B], why: C}\n"+string(old))
	addExercise(t, origin, "01-listwatch/exercises/00-new")
	grader := filepath.Join(origin, "internal", "exercises", "01-listwatch", "again.go")
	source := testkit.Must(os.ReadFile(grader))(t)
	write(t, grader, strings.Replace(string(source), "got != 2*n", "got == 2*n", 1)) // it would reject what it has accepted
	git(t, origin, "add", "-A")
	git(t, origin, "commit", "-q", "-m", "two")
	git(t, first, "pull", "-q")

	contains(t, makeIn(t, first, "progress"), 0, "1 of 4 exercises are solved.\n\nNext: 1.1 A new one")
	contains(t, makeIn(t, first, "exercise", "1.3"), 0, "not solved 1.3", "1.3 stays solved until make reset 1.3.\n")
	contains(t, makeIn(t, second, "progress"), 0, "0 of 3 exercises are solved.\n")
	// As a workbook of before has remembered it, with the checksum of a grader that is no more.
	write(t, filepath.Join(second, ".progress", "01-listwatch", "02-again.json"),
		`{"checksum": "a", "verdict": {"passed": true}, "accepted": {"checksum": "a", "grader": "b"}}`)
	contains(t, makeIn(t, second, "progress"), 0, "1 of 3 exercises are solved.\n\nNext: ")
	status, err := exec.Command("git", "-C", first, "status", "--porcelain").Output()
	if err != nil || string(status) != " M "+again+"\n" {
		t.Errorf("git sees %q, %v: want only the answer", status, err)
	}
}

// terminal is a tmux window of 80 columns and 24 lines, in which a shell runs.
type terminal struct {
	t      *testing.T
	socket string
}

func newTerminal(t *testing.T, root string, env ...string) *terminal {
	t.Helper()
	testkit.All(t, "starts a terminal")
	if _, err := exec.LookPath("tmux"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("tmux is not installed, and CI insists on it")
		}
		t.Skip("tmux is not installed")
	}
	folder := testkit.Must(os.MkdirTemp("", "tmux"))(t) // t.TempDir has the test's name: a socket's path has 103 bytes at most
	t.Cleanup(func() { os.RemoveAll(folder) })
	w := &terminal{t, filepath.Join(folder, "socket")}
	prompt := filepath.Join(t.TempDir(), "rc")
	write(t, prompt, "PS1='ready> '\n")
	cmd := command(append(env, "CLUSTER_DIR="), "tmux", "-S", w.socket, "-f", "/dev/null",
		"new-session", "-d", "-x", "80", "-y", "24", "-c", root, "bash", "--rcfile", prompt)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, output)
	}
	t.Cleanup(func() { w.tmux("kill-server") })
	w.prompt()
	return w
}

// prompt waits until the shell asks for the next command.
func (w *terminal) prompt() {
	w.t.Helper()
	screen := ""
	testkit.Await(w.t, "the prompt as the last line", func() bool {
		screen = w.screen()
		return strings.HasSuffix("\n"+strings.TrimRight(screen, "\n "), "\nready>")
	}, &screen)
}

func (w *terminal) tmux(arguments ...string) string {
	output, _ := exec.Command("tmux", append([]string{"-S", w.socket}, arguments...)...).Output()
	return string(output)
}

func (w *terminal) keys(keys ...string) { w.tmux(append([]string{"send-keys"}, keys...)...) }

func (w *terminal) screen() string { return w.tmux("capture-pane", "-p") }

// shows waits until all texts are on the screen.
func (w *terminal) shows(texts ...string) {
	w.t.Helper()
	screen := ""
	testkit.Await(w.t, fmt.Sprintf("%q on the screen", texts), func() bool {
		screen = w.screen()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	}, &screen)
}

func TestExerciseWatchOnATerminal(t *testing.T) {
	t.Parallel()
	root := exerciseWorkbook(t)
	file := filepath.Join(root, "01-listwatch", "exercises", "01-double", "exercise.go")
	w := newTerminal(t, root)
	w.keys("stty -a > before; make watch", "Enter")
	w.shows("1.1 Double a number", "The task is in exercise.go.", "q quit  h hint  n next  l list  s solution  r run")

	write(t, file, double("3 * n"))
	w.shows("not solved 1.1 Double a number", "look at   the operators of Go", "graded in")
	w.keys("h")
	w.shows("hint 1 of 2: Look at the number.")
	w.keys("s")
	w.shows("The solution is shown when 1.1 is solved.")
	write(t, file, double("m"))
	w.shows("does not compile 1.1 Double a number", "exercise.go:4:33: undefined: m")

	// As many editors save: a new file, renamed.
	write(t, file+".tmp", double("2 * n"))
	if err := os.Rename(file+".tmp", file); err != nil {
		t.Fatal(err)
	}
	w.shows("solved 1.1 Double a number", "It is twice as much")
	w.keys("s")
	w.shows("return n + n")
	w.keys("l")
	w.shows("> [x] 1.1   Double a number", "      1.2   Double it again", "      2.A   What is printed?", "up and down choose")
	w.keys("l", "n")
	w.shows("1.2 Double it again", "01-listwatch/exercises/02-again/exercise.go")
	w.keys("n")
	w.shows("2.1 Double it on a cluster")
	w.keys("r")
	w.shows("not solved 2.1 Double it on a cluster")
	w.keys("n") // the predictions of a chapter come after its first exercise
	w.shows("What is printed?", "a  nothing    Nothing at all")
	w.keys("a")
	w.shows("hello from the program", "wrong You said \"nothing\".", "The program greets first.")
	w.keys("n", "n") // 1.2, and then 2.1 again
	w.shows("2.1 Double it on a cluster")
	// An answer in another file than the current one.
	write(t, filepath.Join(root, "01-listwatch", "exercises", "02-again", "exercise.go"), double("n << 1"))
	w.shows("solved 1.2 Double it again")

	w.keys("q")
	w.prompt()
	w.keys("stty -a > after; echo The end", "Enter")
	w.shows("\nThe end\n")
	sameTerminal(t, root)
	if screen := w.screen(); strings.Contains(screen, "solved 1.2") {
		t.Errorf("the screen is still there:\n%s", screen)
	}
}

// sameTerminal compares the settings of the terminal before and after.
func sameTerminal(t *testing.T, root string) {
	t.Helper()
	before, _ := os.ReadFile(filepath.Join(root, "before"))
	after, _ := os.ReadFile(filepath.Join(root, "after"))
	if len(before) == 0 || !bytes.Equal(before, after) {
		t.Errorf("the terminal was\n%s\nand is\n%s", before, after)
	}
}

// An answer hangs: an interrupt, or SIGTERM, ends all that runs, and leaves the terminal as it was.
func TestExerciseEndsWithAllItsProcesses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command string
		end     func(w *terminal, pid int)
	}{
		"make exercise, Ctrl-C":  {"make exercise 1.1", func(w *terminal, _ int) { w.keys("C-c") }},
		"make watch, Ctrl-C":     {"make watch", func(w *terminal, _ int) { w.keys("C-c") }},
		"make watch, q":          {"make watch", func(w *terminal, _ int) { w.keys("q") }},
		"make watch, SIGTERM":    {"make watch", func(_ *terminal, pid int) { _ = syscall.Kill(pid, syscall.SIGTERM) }},
		"make exercise, SIGTERM": {"make exercise 1.1", func(_ *terminal, pid int) { _ = syscall.Kill(pid, syscall.SIGTERM) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := exerciseWorkbook(t)
			// It starts a process of its own, too, and writes its own number and that one's.
			answer := `package exercise

import ("fmt"; "os"; "os/exec")

func Double(int) int {
	cmd := exec.Command("sleep", "1000")
	_ = cmd.Start()
	_ = os.WriteFile(` + fmt.Sprintf("%q", filepath.Join(root, "pids.new")) + `, []byte(fmt.Sprintln(os.Getpid(), cmd.Process.Pid)), 0o600)
	_ = os.Rename(` + fmt.Sprintf("%q, %q", filepath.Join(root, "pids.new"), filepath.Join(root, "pids")) + `)
	for {}
}
`
			file := filepath.Join(root, "01-listwatch", "exercises", "01-double", "exercise.go")
			w := newTerminal(t, root, "NO_COLOR=1")
			if test.command == "make exercise 1.1" {
				write(t, file, answer)
			}
			w.keys("stty -a > before; "+test.command, "Enter")
			if test.command != "make exercise 1.1" {
				w.shows("01-listwatch/exercises/01-double") // it watches from then on
				write(t, file, answer)
			}
			var hanging, child int
			screen := ""
			testkit.Await(t, "the answer's processes", func() bool {
				screen = w.screen()
				text, _ := os.ReadFile(filepath.Join(root, "pids"))
				_, _ = fmt.Sscan(string(text), &hanging, &child)
				return child != 0
			}, &screen)
			test.end(w, w.program())
			w.prompt()
			w.keys("stty -a > after; echo The end", "Enter")
			w.shows("\nThe end\n")
			sameTerminal(t, root)
			for _, pid := range []int{hanging, child} {
				deadline := time.Now().Add(20 * time.Second) // later, the grader's own time is over, and it ends them
				for syscall.Kill(pid, 0) == nil {
					if time.Now().After(deadline) {
						t.Errorf("process %d still runs", pid)
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
}

// program returns the process of scripts/exercise that runs in the terminal.
func (w *terminal) program() int {
	w.t.Helper()
	pids, err := process.Pids()
	if err != nil {
		w.t.Fatal(err)
	}
	shell, err := strconv.Atoi(strings.TrimSpace(w.tmux("display-message", "-p", "#{pane_pid}")))
	if err != nil {
		w.t.Fatal(err)
	}
	below := map[int32]bool{int32(shell): true}
	for range 4 { // the shell, make, its shell, the program
		for _, pid := range pids {
			p := &process.Process{Pid: pid}
			if parent, err := p.Ppid(); err != nil || !below[parent] {
				continue
			}
			below[pid] = true
			if program, err := p.Exe(); err == nil && strings.HasPrefix(filepath.Base(program), "exercise-") {
				return int(pid)
			}
		}
	}
	w.t.Fatalf("the program does not run:\n%s", w.screen())
	return 0
}

func TestExerciseWatchWithoutColor(t *testing.T) {
	t.Parallel()
	root := exerciseWorkbook(t)
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*(3[0-7]|9[0-7]|38;[0-9;]*)m")
	colors := func(env ...string) string {
		w := newTerminal(t, root, env...)
		w.keys("make watch", "Enter")
		w.shows("r run")
		w.keys("r")
		w.shows("not solved 1.1")
		screen := w.tmux("capture-pane", "-p", "-e")
		w.keys("q")
		w.prompt()
		return escapes.FindString(screen)
	}
	if got := colors(); got == "" {
		t.Error("no colours")
	}
	if got := colors("NO_COLOR=1"); got != "" {
		t.Errorf("with NO_COLOR: %q", got)
	}
}

func TestMutantsAreListed(t *testing.T) {
	testkit.All(t, "compiles what makes mutants")
	t.Parallel()
	testcluster.Config(t) // or make mutants would make a cluster
	got := run(t, []string{"CLUSTER_DIR=" + os.Getenv("CLUSTER_DIR")}, "make", "-C", "..", "mutants", "1.1", "ARGS=--list")
	if got.code != 0 || !strings.Contains(got.stdout, "PodNames: err → nil\n") {
		t.Errorf("exit code %d:\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// The workbook's README shows an exercise that nobody has begun. The numbers in its output are others each time.
func TestOutputOfTheExerciseInTheREADME(t *testing.T) {
	testkit.All(t, "compiles a copy of the workbook")
	t.Parallel()
	readme := testkit.Must(os.ReadFile("../README.md"))(t)
	block := regexp.MustCompile("(?s)```console\n\\$ make (exercise) ([0-9.]+)\n(.*?)```").FindSubmatch(readme)
	if block == nil {
		t.Fatal("README.md shows no exercise")
	}
	root := checkout(t)
	mask := func(text string) string { return regexp.MustCompile(`[0-9]+`).ReplaceAllString(text, "N") }
	got := makeIn(t, root, string(block[1]), string(block[2]))
	if want := string(block[3]); mask(got.stdout) != mask(want) || got.code != 0 {
		t.Errorf("it prints\n%s%s\nand README.md shows\n%s", got.stdout, got.stderr, want)
	}
}

// checkout copies what git has of this one, or would take, with the exercises as a reader finds them, and returns the copy's folder.
func checkout(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "my workbook")
	copied := testkit.Must(exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output())(t)
	for _, name := range strings.Split(strings.Trim(string(copied), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("..", name))
		if filepath.Base(name) == "exercise.go" {
			e := manifest.Exercise{Folder: filepath.Dir(name)}
			if starter, err := os.ReadFile(filepath.Join("..", e.Starter())); err == nil {
				data = starter
			}
		}
		if err == nil {
			write(t, filepath.Join(root, name), string(data))
		}
	}
	return root
}
