package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

// outcome is what came of grading an exercise.
type outcome struct {
	exercise  exercise
	untouched bool // the learner has not begun
	verdict   *manifest.Verdict
	// compiler has what the compiler says, if there is no verdict. Five lines at most.
	compiler []string
	another  string // a file of the grader that is not the one of git
	before   bool   // an answer was accepted before
	took     time.Duration
}

func (o outcome) passed() bool { return o.verdict != nil && o.verdict.Passed }

// grade runs the grader of an exercise and remembers its verdict. It calls report with a line for each thing that takes
// long. An error means that there was no grading.
func (w *workbook) grade(ctx context.Context, e exercise, report func(line string)) (outcome, error) {
	o := outcome{exercise: e}
	var missing string
	if missing, o.another = w.compareWithGit(ctx, e); missing != "" {
		o.compiler = []string{missing}
		return o, nil
	}
	if e.Cluster {
		if err := w.startCluster(ctx, report); err != nil {
			return o, err
		}
	}
	// Before the grader runs: a file that is saved meanwhile has another one.
	sum, err := w.checksum(e)
	if err != nil {
		return o, err
	}
	answer, err := w.answerChecksum(e)
	if err != nil {
		return o, err
	}
	r, err := w.record(w.taskOf(e))
	if err != nil {
		return o, err
	}
	o.before = r.Accepted != nil
	if o.untouched, err = w.isStarter(e); err != nil {
		return o, err
	}

	// Where this program is, programs may run. TMPDIR can forbid that.
	here, err := os.Executable()
	if err != nil {
		return o, err
	}
	folder, err := os.MkdirTemp(filepath.Dir(here), "grader-")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(folder)
	slow := time.AfterFunc(5*time.Second, func() {
		report(fmt.Sprintf("Compiling and grading %s. The first time, with all of client-go, that takes minutes.", e.ID))
	})
	defer slow.Stop()
	begin := time.Now()
	program := filepath.Join(folder, "grader")
	printed, failed := w.compile(ctx, e, program)
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	if exit := (*exec.ExitError)(nil); errors.As(failed, &exit) {
		o.compiler = compilerLines(e, printed)
		return o, nil
	}
	if failed != nil {
		return o, fmt.Errorf("%s cannot be graded: %w", e.ID, failed)
	}
	o.verdict, err = w.runGrader(ctx, e, program)
	o.took = time.Since(begin)
	switch {
	case ctx.Err() != nil:
		return o, ctx.Err()
	case err != nil:
		return o, err
	case o.verdict.Busy:
		return o, busyError(fmt.Sprintf("%s could not be graded: %s. Nothing is recorded: make exercise %s, or r, grades it again.",
			e.ID, o.verdict.Seen, e.ID))
	case o.verdict.Broken:
		return o, fmt.Errorf("%s cannot be graded: %s", e.ID, strings.TrimSpace(o.verdict.Seen))
	}
	return o, w.update(w.taskOf(e), func(r *record) {
		r.Checksum, r.Verdict = sum, o.verdict
		if o.passed() {
			r.Accepted = &accepted{answer}
		}
	})
}

// busyError means that the machine has not given a grader its time: the answer is neither accepted nor rejected.
type busyError string

func (e busyError) Error() string { return string(e) }

// compile makes the program that grades an answer. Apart from its run: compiling may take minutes, and has no limit.
func (w *workbook) compile(ctx context.Context, e exercise, program string) (printed string, err error) {
	race, env := []string(nil), environment()
	if os.Getenv("RACE") != "" { // only where it is asked for: go compiles all of client-go once more for it
		race, env = []string{"-race"}, append(env, "CGO_ENABLED=1") // the detector is C code
		if err := w.hasCompiler(ctx); err != nil {
			return "", fmt.Errorf("RACE is set, and its C compiler cannot be used: %w: install one (see make doctor), or unset RACE", err)
		}
	}
	var said bytes.Buffer
	arguments := append([]string{"test", "-c", "-o", program, "-vet=off", "-ldflags=-w -s"}, race...)
	cmd := command(ctx, syscall.SIGKILL, "go", append(arguments, "./"+filepath.ToSlash(e.Folder))...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.root, env, &said, &said
	err = runGroup(cmd)
	return said.String(), err
}

// hasCompiler returns an error if go would not find its C compiler.
func (w *workbook) hasCompiler(ctx context.Context) error {
	cmd := command(ctx, syscall.SIGKILL, "go", "env", "CC")
	var said bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout = w.root, environment(), &said
	if err := runGroup(cmd); err != nil {
		return err
	}
	name, _, _ := strings.Cut(strings.TrimSpace(said.String()), " ") // arguments may follow
	_, err := exec.LookPath(name)
	return err
}

// runGrader runs the program that grades an answer, in the exercise's folder as go test does.
func (w *workbook) runGrader(ctx context.Context, e exercise, program string) (*manifest.Verdict, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	file := filepath.Join(filepath.Dir(program), "verdict")
	// At SIGQUIT a Go program prints where it is, and ends.
	cmd := command(ctx, syscall.SIGQUIT, program, "-test.run=^TestExercise$", "-test.v", "-test.paniconexit0")
	cmd.Dir = filepath.Join(w.root, e.Folder)
	cmd.Env = append(environment(), "WORKBOOK_VERDICT="+file, "PWD="+cmd.Dir,
		"GORACE=atexit_sleep_ms=0") // by default, each process waits for a second at its end
	late := time.AfterFunc(w.toBegin, cancel)
	defer late.Stop()
	var printed bytes.Buffer
	began := false
	lines := &lineWriter{report: func(line string) {
		// The testing package prints it, after all of init.
		if !began && strings.Contains(line, "=== RUN ") {
			began = true
			late.Stop()
		}
		fmt.Fprintln(&printed, line)
		const kept = 1 << 18
		printed.Next(max(0, printed.Len()-kept))
	}}
	cmd.Stdout, cmd.Stderr = lines, lines
	if err := runGroup(cmd); cmd.ProcessState == nil { // it could not be started
		return nil, fmt.Errorf("%s cannot be graded: %w", e.ID, err)
	}

	var verdict *manifest.Verdict
	data, err := os.ReadFile(file)
	if err == nil && json.Unmarshal(data, &verdict) == nil && verdict != nil {
		return verdict, nil
	}
	inTime, cpu := ctx.Err() == nil, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	// A loop gets more than a twentieth of the time on a busy machine, too.
	if !inTime && cpu < w.toBegin/20 && !waitsInAnswer(e, printed.String()) {
		return &manifest.Verdict{Broken: true, Busy: true, Seen: fmt.Sprintf("the machine was too busy: in %s its grader got %s",
			w.toBegin, cpu.Round(100*time.Millisecond))}, nil
	}
	if seen := w.withoutVerdict(e, printed.String(), cmd.ProcessState.String(), began, inTime); seen != "" {
		return &manifest.Verdict{Seen: seen}, nil
	}
	rest := strings.Split(strings.TrimSpace(printed.String()), "\n")
	return nil, fmt.Errorf("%s cannot be graded: its grader has failed (%v):\n%s", e.ID, cmd.ProcessState,
		strings.Join(rest[max(0, len(rest)-4):], "\n"))
}

var (
	panicLine = regexp.MustCompile(`(?m)^(?:panic|fatal error): .*`)
	exitLine  = regexp.MustCompile(`\b(?:os\.Exit|k?log\.Fatal\w*|klog\.Exit\w*|func TestMain)\(`)
)

// withoutVerdict says why a grader has ended without a verdict: what is outside of the answer's functions runs in its
// process, too, and before it begins. It returns nothing if the answer is not the cause.
func (w *workbook) withoutVerdict(e exercise, printed, ended string, began, inTime bool) string {
	const outside = "init() or a package variable"
	where := ""
	place := regexp.MustCompile(regexp.QuoteMeta(filepath.ToSlash(e.Folder)) + `/(\w+\.go:\d+)`)
	for _, found := range place.FindAllStringSubmatch(printed, -1) {
		if !strings.HasPrefix(found[1], "exercise_test.go:") {
			where = " (" + found[1] + ")"
			break
		}
	}
	panics := panicLine.FindString(printed)
	switch {
	case !inTime:
		return outside + " does not end" + where
	case panics != "" && !began:
		return panics + where + ", in " + outside
	case panics != "" && where != "": // in a goroutine that began there
		return panics + where
	case !began && !strings.Contains(printed, "no tests to run") && strings.HasPrefix(ended, "exit status "):
		return outside + " ends the program, with " + ended + w.exits(e)
	}
	return ""
}

// waitsInAnswer says whether a trace shows that the first goroutine, which runs init(), waits in a file of the answer.
func waitsInAnswer(e exercise, trace string) bool {
	_, after, _ := strings.Cut(trace, "goroutine 1 [")
	first, _, _ := strings.Cut(after, "\n\n")
	return !strings.HasPrefix(first, "run") && strings.Contains(first, filepath.ToSlash(e.Folder)+"/")
}

// exits returns the place of the first line that ends the program, in the answer's files.
func (w *workbook) exits(e exercise) string {
	files, _ := filepath.Glob(filepath.Join(w.root, e.Folder, "*.go"))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		if at := exitLine.FindIndex(data); at != nil && filepath.Base(file) != "exercise_test.go" {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(file), 1+bytes.Count(data[:at[0]], []byte("\n")))
		}
	}
	return ""
}

var sourceLine = regexp.MustCompile(`^(\S+\.go:\d+(?::\d+)?): (.*)`)

// noise matches lines of go test that say nothing about the answer.
var noise = regexp.MustCompile(`^(FAIL|# |go: downloading )`)

// compilerLines returns the lines of go test that say what does not compile, with the names of files as the learner sees
// them in the exercise's folder.
func compilerLines(e exercise, printed string) []string {
	var lines, other []string
	inMessage, ownFile, graderFile := false, false, false
	for line := range strings.Lines(printed) {
		line = strings.ReplaceAll(strings.TrimPrefix(strings.TrimRight(line, "\n"), "./"), filepath.ToSlash(e.Folder)+"/", "")
		switch {
		case sourceLine.MatchString(line):
			lines = append(lines, line)
			inMessage = true
			if strings.HasPrefix(line, "exercise_test.go:") {
				graderFile = true
			} else {
				ownFile = true
			}
		case inMessage && strings.HasPrefix(line, "\t"): // have (...), want (...)
			lines = append(lines, "    "+strings.TrimSpace(line))
		default:
			inMessage = false
			if line != "" && !noise.MatchString(line) {
				other = append(other, line)
			}
		}
	}
	if len(lines) == 0 {
		lines = other
	}
	most, advice := 5, []string(nil)
	if graderFile && !ownFile {
		most, advice = 4, []string{"The grader cannot use your answer: keep the names and types of " + e.Starter() + "."}
	}
	if len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("... and %d more lines", len(lines)-most+1))
	}
	return append(lines, advice...)
}

// clusterRuns reports whether the workbook's cluster is up.
func (w *workbook) clusterRuns(ctx context.Context) bool {
	status := command(ctx, syscall.SIGKILL, "scripts/cluster-status.sh")
	status.Dir, status.Env = w.root, environment()
	return runGroup(status) == nil
}

// onKind reports whether the workbook's cluster is a kind cluster.
func (w *workbook) onKind(ctx context.Context) bool {
	status := command(ctx, syscall.SIGKILL, "scripts/cluster-status.sh")
	var said bytes.Buffer
	status.Dir, status.Env, status.Stdout = w.root, environment(), &said
	return runGroup(status) == nil && strings.HasPrefix(said.String(), "The kind cluster ")
}

// startCluster brings the workbook's cluster up, if it is not.
func (w *workbook) startCluster(ctx context.Context, report func(line string)) error {
	if w.clusterRuns(ctx) || ctx.Err() != nil {
		return ctx.Err()
	}
	report("This needs the cluster, which is not running: starting it, as make cluster does.")
	// Not in a group of its own that is killed at the end: the cluster goes on. At an interrupt it says how to go on.
	up := exec.CommandContext(ctx, "scripts/cluster-up.sh")
	up.Cancel = func() error { return up.Process.Signal(os.Interrupt) }
	up.WaitDelay = 20 * time.Second
	up.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	up.Dir, up.Env = w.root, environment()
	lines := &lineWriter{report: report}
	up.Stdout, up.Stderr = lines, lines
	if err := up.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("the cluster does not start (%w): see above", err)
	}
	return nil
}
