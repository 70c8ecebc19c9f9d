// Command exercise grades the workbook's exercises and asks its predictions. scripts/exercise.sh builds it and runs it in
// the workbook's root; make has a target for each of its commands.
//
// Read in this order: workbook.go (the tasks, and which is next), grade.go (one answer and its grader), git.go (are its
// files whole?), checksum.go and record.go (what is remembered), predict.go, watch.go (grade on save), screen.go (the same
// on a terminal), text.go, process.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"
)

const usage = "make exercise, hint, solution, reset and watch take one number, as in make exercise 2.3; make progress takes none."

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdin, colorprofile.NewWriter(os.Stdout, os.Environ()))
	interrupted := ctx.Err() != nil
	stop()

	var misuse usageError
	var busy busyError
	switch {
	case err == nil:
	case interrupted:
		os.Exit(130)
	case errors.Is(err, errNotSolved):
		os.Exit(1) // it is printed already
	case errors.As(err, &misuse):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case errors.As(err, &busy):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// errNotSolved means that an answer was rejected.
var errNotSolved = errors.New("not solved")

// usageError is an error in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

func run(ctx context.Context, arguments []string, in *os.File, out io.Writer) error {
	if len(arguments) == 0 {
		return usageError(usage)
	}
	w, err := open(".", out)
	if err != nil {
		return err
	}
	command, arguments := arguments[0], arguments[1:]
	force := command == "solution" && len(arguments) > 0 && arguments[0] == "--force"
	if force {
		arguments = arguments[1:]
	}
	if command == "progress" && len(arguments) == 0 {
		return w.progress(ctx)
	}
	if len(arguments) > 1 && (command != "grade" || len(arguments) > 2) {
		return usageError(usage)
	}
	var t *task // the one with this number, or the next
	if len(arguments) > 0 {
		t, err = w.find(arguments[0])
	} else {
		t, err = w.next(ctx, "")
	}
	if err != nil {
		return err
	}
	if command == "watch" {
		if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) || os.Getenv("TERM") == "dumb" {
			return usageError("make watch needs a terminal for its screen: make exercise grades once, without one.")
		}
		return w.watchScreen(ctx, t)
	}
	if t == nil {
		w.say("All exercises are solved.")
		return nil
	}
	if command == "grade" {
		return w.do(ctx, *t, strings.Join(arguments[min(1, len(arguments)):], ""), in)
	}
	if t.exercise == nil {
		return usageError(fmt.Sprintf("%s is a prediction: make exercise %s asks it.", t.id, t.id))
	}
	switch command {
	case "hint":
		return w.hint(*t.exercise)
	case "solution":
		return w.solution(ctx, *t.exercise, force)
	case "reset":
		return w.reset(*t.exercise)
	}
	return usageError(usage)
}

// do grades an exercise, or asks a prediction.
func (w *workbook) do(ctx context.Context, t task, answer string, in *os.File) error {
	if t.prediction != nil {
		return w.predict(ctx, t, answer, in)
	}
	if answer != "" {
		return usageError(fmt.Sprintf("%s is no prediction: its answer is in %s.", t.id, t.exercise.File()))
	}
	o, err := w.grade(ctx, *t.exercise, w.report)
	if err != nil {
		return err
	}
	w.say(w.outcomeText(o, w.width))
	if !o.passed() {
		return errNotSolved
	}
	return w.sayNext(ctx, t.id)
}

// hint prints one hint more than the last time.
func (w *workbook) hint(e exercise) error {
	shown, err := w.showHint(e)
	if err != nil {
		return err
	}
	w.say(hintText(e, shown, w.width))
	return nil
}

// solution prints the solution of a solved exercise, or of any by force.
func (w *workbook) solution(ctx context.Context, e exercise, force bool) error {
	if !force {
		solved, err := w.solved(ctx, e)
		if err != nil {
			return err
		}
		if !solved {
			return usageError(fmt.Sprintf("%s is not solved yet: make hint %s helps. FORCE=1 make solution %s shows it all the same.",
				e.ID, e.ID, e.ID))
		}
	}
	text, err := w.solutionText(e)
	if err != nil {
		return err
	}
	w.say(text)
	return nil
}

// reset puts the starter back, and keeps the learner's files beside it. The exercise is not solved any more.
func (w *workbook) reset(e exercise) error {
	isStarter, err := w.isStarter(e)
	if err != nil {
		return err
	}
	starter, err := os.ReadFile(filepath.Join(w.root, e.Starter()))
	if err != nil {
		return err
	}
	names, err := w.files(e.Folder, true)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !isAnswer(e, name) || name == e.File() && isStarter {
			continue
		}
		kept, err := keep(filepath.Join(w.root, name))
		if err != nil {
			return err
		}
		w.say(fmt.Sprintf("Your file is kept as %s.", filepath.Join(e.Folder, filepath.Base(kept))))
	}
	if !isStarter {
		if err := os.WriteFile(filepath.Join(w.root, e.File()), starter, 0o644); err != nil {
			return err
		}
	}
	if err := w.update(w.taskOf(e), func(r *record) { r.Checksum, r.Verdict, r.Accepted = "", nil, nil }); err != nil {
		return err
	}
	w.say(fmt.Sprintf("%s is as it was in the beginning: %s", e.ID, e.File()))
	return nil
}

// keep moves a file to the first free name beside it: exercise.go.1, exercise.go.2. The go command ignores such a file.
func keep(path string) (string, error) {
	for i := 1; ; i++ {
		kept := fmt.Sprintf("%s.%d", path, i)
		err := os.Link(path, kept) // unlike a rename, it never replaces a file
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		return kept, os.Remove(path)
	}
}
