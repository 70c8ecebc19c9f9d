package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

// record is what is remembered of a task, in a file of .progress. A verdict counts only as long as the checksum is that
// of the answer and its grader. An exercise is solved once an answer was accepted, whatever the file and the grader have now:
// until make reset.
type record struct {
	Checksum string            `json:"checksum,omitempty"`
	Verdict  *manifest.Verdict `json:"verdict,omitempty"`
	Accepted *accepted         `json:"accepted,omitempty"`
	Hints    int               `json:"hints,omitempty"`  // that were shown
	Answer   string            `json:"answer,omitempty"` // to a prediction: the word
	Later    bool              `json:"later,omitempty"`  // the prediction was put off
}

// accepted has the checksum of the last answer that was accepted. Workbooks of before had another one: then it is empty.
type accepted struct {
	Answer string `json:"answer"`
}

// recordPath is named for the exercise's folder, not for its number, which changes when another one is put before it.
func (w *workbook) recordPath(t task) string {
	name := t.id
	if t.exercise != nil {
		name = t.exercise.Name
	}
	return filepath.Join(w.root, ".progress", t.chapter, name+".json")
}

// record returns what is remembered of a task: nothing of a new one, nor if the file cannot be understood.
func (w *workbook) record(t task) (record, error) {
	var r record
	data, err := os.ReadFile(w.recordPath(t))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if json.Unmarshal(data, &r) != nil {
		return record{}, nil
	}
	return r, nil
}

// update changes what is remembered of a task. Another program that works on the same checkout waits meanwhile.
func (w *workbook) update(t task, change func(*record)) error {
	path := w.recordPath(t)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err != nil {
		return fmt.Errorf("the progress cannot be kept: %w", err)
	}
	lock := flock.New(filepath.Join(w.root, ".progress", "lock"))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("the progress cannot be kept: %w", err)
	}
	defer lock.Unlock()
	r, err := w.record(t)
	if err != nil {
		return err
	}
	change(&r)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	// Renamed into its place when it is whole.
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("the progress cannot be kept: %w", err)
	}
	return os.Rename(path+".new", path)
}

// showHint remembers that one hint more is shown, and returns how many.
func (w *workbook) showHint(e exercise) (shown int, err error) {
	err = w.update(w.taskOf(e), func(r *record) {
		r.Hints = min(r.Hints+1, len(e.Hints))
		shown = r.Hints
	})
	return shown, err
}
