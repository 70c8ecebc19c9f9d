package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	took     time.Duration
}

func (o outcome) passed() bool { return o.verdict != nil && o.verdict.Passed }

// grade runs the grader of an exercise and remembers its verdict. It calls report with a line for each thing that takes
// long. An error means that there was no grading.
func (w *workbook) grade(ctx context.Context, e exercise, report func(line string)) (outcome, error) {
	o := outcome{exercise: e}
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
	if o.untouched, err = e.IsStarter(w.root); err != nil {
		return o, err
	}

	folder, err := os.MkdirTemp("", "exercise-")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "verdict")
	slow := time.AfterFunc(5*time.Second, func() {
		report(fmt.Sprintf("Compiling and grading %s. The first time, with all of client-go, that takes minutes.", e.ID))
	})
	defer slow.Stop()
	begin := time.Now()
	var printed bytes.Buffer
	cmd := command(ctx, syscall.SIGKILL, "go", "test", "-count=1", "-vet=off", "-ldflags=-w", "-run", "^TestExercise$",
		"./"+filepath.ToSlash(e.Folder))
	cmd.Dir = w.root
	cmd.Env = append(environment(), "WORKBOOK_VERDICT="+file)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	failed := runGroup(cmd)
	o.took = time.Since(begin)
	if ctx.Err() != nil {
		return o, ctx.Err()
	}

	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &o.verdict)
	}
	switch {
	case err == nil && o.verdict.Broken:
		return o, fmt.Errorf("%s cannot be graded: %s", e.ID, strings.TrimSpace(o.verdict.Seen))
	case err == nil:
		return o, w.update(w.taskOf(e), func(r *record) { r.Checksum, r.Verdict = sum, o.verdict })
	case failed != nil && strings.Contains(printed.String(), " failed]"): // [build failed], [setup failed]
		o.compiler = compilerLines(e, printed.String())
		return o, nil
	}
	lines := strings.Split(strings.TrimSpace(printed.String()), "\n")
	return o, fmt.Errorf("%s cannot be graded: its grader has failed (%v):\n%s", e.ID, failed,
		strings.Join(lines[max(0, len(lines)-4):], "\n"))
}

var sourceLine = regexp.MustCompile(`^(\S+\.go:\d+(?::\d+)?): (.*)`)

// compilerLines returns the lines of go test that say what does not compile, with the names of files as the learner sees
// them in the exercise's folder.
func compilerLines(e exercise, printed string) []string {
	var lines, other []string
	inMessage, ownFile := false, false
	for line := range strings.Lines(printed) {
		line = strings.TrimRight(line, "\n")
		switch {
		case sourceLine.MatchString(line):
			line = strings.TrimPrefix(strings.TrimPrefix(line, "./"), filepath.ToSlash(e.Folder)+"/")
			lines = append(lines, line)
			inMessage = true
			ownFile = ownFile || !strings.HasPrefix(line, "exercise_test.go:")
		case inMessage && strings.HasPrefix(line, "\t"): // have (...), want (...)
			lines = append(lines, "    "+strings.TrimSpace(line))
		default:
			inMessage = false
			if line != "" && !strings.HasPrefix(line, "FAIL") && !strings.HasPrefix(line, "# ") {
				other = append(other, line)
			}
		}
	}
	if len(lines) == 0 {
		lines = other
	}
	const most = 5
	if !ownFile && len(lines) > 0 && len(lines) < most {
		lines = append(lines, "The grader cannot use your answer: keep the names and types of "+e.Starter()+".")
	}
	if len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("... and %d more lines", len(lines)-most+1))
	}
	return lines
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
		return fmt.Errorf("the cluster does not start (%w): make doctor says what is missing", err)
	}
	return nil
}
