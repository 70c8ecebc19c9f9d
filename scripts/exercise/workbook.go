package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/term"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

type (
	exercise   = manifest.Exercise
	prediction = manifest.Prediction
)

// workbook is the checkout that the learner works in.
type workbook struct {
	root     string
	module   string // the path in go.mod
	chapters []manifest.Chapter
	tasks    []task // of all chapters, in order
	out      io.Writer
	width    int // columns
	// toBegin is the time in which a grader must begin, on a busy machine, too. From then on it limits the answer itself.
	toBegin time.Duration
	busy    map[string]bool // exercises that the machine was too busy to grade: only the reader asks once more
}

// task is an exercise or a prediction: the other one is nil.
type task struct {
	id         string
	chapter    string // the folder
	exercise   *exercise
	prediction *prediction
}

// title returns the exercise's title, or the first line of the question.
func (t task) title() string {
	if t.prediction != nil {
		line, _, _ := strings.Cut(t.prediction.Question, "\n")
		return line
	}
	return t.exercise.Title
}

func open(root string, out io.Writer) (*workbook, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	chapters, err := manifest.Load(root)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(chapters, func(c manifest.Chapter) bool { return len(c.Exercises) > 0 }) {
		return nil, fmt.Errorf("%s has no exercises: download the workbook again", root)
	}
	w := &workbook{
		root: root, module: modfile.ModulePath(mod), chapters: chapters,
		out: out, width: 80, toBegin: 30 * time.Second, busy: map[string]bool{},
	}
	if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && columns > 0 {
		w.width = min(columns, 100)
	}
	for _, c := range chapters {
		var tasks, predictions []task
		for i := range c.Exercises {
			tasks = append(tasks, task{c.Exercises[i].ID, c.Folder, &c.Exercises[i], nil})
		}
		for i := range c.Predictions {
			predictions = append(predictions, task{c.Predictions[i].ID, c.Folder, nil, &c.Predictions[i]})
		}
		// The first exercise comes before the predictions: it is quick, and in chapter 1 it needs no cluster.
		w.tasks = append(w.tasks, slices.Insert(tasks, min(1, len(tasks)), predictions...)...)
	}
	return w, nil
}

func (w *workbook) say(text string) { fmt.Fprintln(w.out, text) }

// report prints a line about what takes long.
func (w *workbook) report(line string) { fmt.Fprintln(os.Stderr, line) }

// find returns the task with an id.
func (w *workbook) find(id string) (*task, error) {
	for i := range w.tasks {
		if strings.EqualFold(w.tasks[i].id, id) {
			return &w.tasks[i], nil
		}
	}
	var have []string
	for _, c := range w.chapters {
		if n := len(c.Exercises); n > 0 {
			have = append(have, fmt.Sprintf("%s to %s", c.Exercises[0].ID, c.Exercises[n-1].ID))
		}
		for _, p := range c.Predictions {
			have = append(have, p.ID)
		}
	}
	return nil, usageError(fmt.Sprintf("There is no exercise %s. Exercises: %s.", id, strings.Join(have, ", ")))
}

// next returns the first task after the one with that id that is neither solved nor put off, from the beginning again
// after the last; nil if there is none. Without an id, it begins at the beginning.
func (w *workbook) next(ctx context.Context, after string) (*task, error) {
	at := slices.IndexFunc(w.tasks, func(t task) bool { return t.id == after })
	for i := range w.tasks {
		t := &w.tasks[(at+1+i)%len(w.tasks)]
		if t.prediction != nil {
			r, err := w.record(*t)
			if err != nil {
				return nil, err
			}
			if r.Answer == "" && !r.Later {
				return t, nil
			}
			continue
		}
		solved, err := w.solved(ctx, *t.exercise)
		if err != nil {
			return nil, err
		}
		if !solved {
			return t, nil
		}
	}
	return nil, nil
}

func (w *workbook) sayNext(ctx context.Context, after string) error {
	t, err := w.next(ctx, after)
	if err != nil {
		return err
	}
	w.say("\n" + nextText(t))
	return nil
}

// solved reports whether an exercise is solved. Its grader runs only if something has changed since the last time.
func (w *workbook) solved(ctx context.Context, e exercise) (bool, error) {
	solved, known, err := w.remembered(e)
	if err != nil || known {
		return solved, err
	}
	if w.busy[e.ID] {
		return false, nil
	}
	w.report(e.ID + " has changed: grading it.")
	o, err := w.grade(ctx, e, w.report)
	var busy busyError
	switch {
	case errors.As(err, &busy):
		w.report(busy.Error())
		w.busy[e.ID] = true
	case err != nil:
		return false, err
	case o.passed():
		w.report(e.ID + " is solved.")
	default:
		w.report(fmt.Sprintf("%s is not solved: make exercise %s says why.", e.ID, e.ID))
	}
	return o.passed(), nil
}

// remembered returns what is known of an exercise without grading it: an untouched one is open, and one is solved if its
// grader has accepted an answer, whatever the file and the grader have now.
func (w *workbook) remembered(e exercise) (solved, known bool, err error) {
	r, err := w.record(w.taskOf(e))
	if err != nil {
		return false, false, err
	}
	if r.Accepted != nil {
		return true, true, nil
	}
	if r.Verdict != nil {
		sum, err := w.checksum(e)
		if err != nil {
			return false, false, err
		}
		if r.Checksum == sum {
			return r.Verdict.Passed, true, nil
		}
	}
	isStarter, err := w.isStarter(e)
	return false, isStarter, err
}

// changed reports whether the answer is another than the one that was accepted.
func (w *workbook) changed(e exercise) (bool, error) {
	r, err := w.record(w.taskOf(e))
	if err != nil || r.Accepted == nil || r.Accepted.Answer == "" {
		return false, err
	}
	sum, err := w.answerChecksum(e)
	return sum != r.Accepted.Answer, err
}

func (w *workbook) taskOf(e exercise) task {
	return task{id: e.ID, chapter: filepath.Dir(filepath.Dir(e.Folder)), exercise: &e}
}

// sections returns how many sections with a number the page of a folder has: the bugs, or the stages of the capstone.
func (w *workbook) sections(folder string) int {
	page, _ := os.ReadFile(filepath.Join(w.root, folder, "README.md")) // without the page, there are none
	return len(numbered.FindAll(page, -1))
}

var numbered = regexp.MustCompile(`(?m)^## \d+\. `)

// progress prints a bar for each chapter, for the bugs and the capstone, and what is next.
func (w *workbook) progress(ctx context.Context) error {
	var lines, changed []string
	all, done := 0, 0
	for _, c := range w.chapters {
		solved, answered := 0, 0
		for _, e := range c.Exercises {
			ok, err := w.solved(ctx, e)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			solved++
			is, err := w.changed(e)
			if err != nil {
				return err
			}
			if is {
				changed = append(changed, e.ID)
			}
		}
		for _, p := range c.Predictions {
			r, err := w.record(task{id: p.ID, chapter: c.Folder})
			if err != nil {
				return err
			}
			if r.Answer != "" {
				answered++
			}
		}
		lines = append(lines, progressText(c, solved, answered))
		all, done = all+len(c.Exercises), done+solved
	}
	if bugs := w.sections("06-crd-codegen/bugs"); bugs > 0 {
		mended, _ := filepath.Glob(filepath.Join(w.root, ".progress", "bugs", "*")) // the pattern is right
		lines = append(lines, barText("  bugs", len(mended), bugs))
	}
	if stages := w.sections("06-crd-codegen/capstone"); stages > 0 {
		text, _ := os.ReadFile(filepath.Join(w.root, ".progress", "capstone")) // without it, no stage is kept
		reached := 0
		_, _ = fmt.Sscan(string(text), &reached)
		lines = append(lines, barText("  capstone", reached, stages))
	}
	w.say(strings.Join(lines, "\n"))
	w.say(fmt.Sprintf("%d of %d exercises are solved.", done, all))
	if len(changed) > 0 {
		w.say(fmt.Sprintf("Changed since then: %s.", strings.Join(changed, ", ")))
	}
	return w.sayNext(ctx, "")
}
