package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watchFiles calls saved with each exercise whose file the learner has saved, until ctx ends.
func (w *workbook) watchFiles(ctx context.Context, saved func(exercise)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("files cannot be watched: %w", err)
	}
	defer watcher.Close()
	// Folders and not files: many editors write a new file and rename it.
	byFile := map[string]exercise{}
	for _, t := range w.tasks {
		if t.exercise == nil {
			continue
		}
		folder := filepath.Join(w.root, t.exercise.Folder)
		if err := watcher.Add(folder); err != nil {
			return fmt.Errorf("%s cannot be watched: %w", t.exercise.Folder, err)
		}
		byFile[filepath.Join(w.root, t.exercise.File())] = *t.exercise
	}

	// One save is several events. It is over when none has come for a while.
	const pause = 50 * time.Millisecond
	quiet := time.NewTimer(0)
	<-quiet.C
	var last exercise
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-watcher.Events:
			if e, ok := byFile[event.Name]; ok && event.Op != fsnotify.Chmod {
				last = e
				quiet.Reset(pause)
			}
		case err := <-watcher.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return fmt.Errorf("files cannot be watched any more: %w", err)
			}
		case <-quiet.C:
			saved(last)
		}
	}
}

// latest runs one piece of work at a time: a new one ends the one before. Its methods are for one goroutine only.
type latest struct {
	cancel  context.CancelFunc
	done    chan struct{} // closed when the last one has ended
	running sync.WaitGroup
}

// start runs work in a goroutine, when the one before has ended. They run in the order of the calls, not in the order in which the
// goroutines begin: what was started last must not be ended by what came before it.
func (l *latest) start(ctx context.Context, work func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	before, endBefore, done := l.done, l.cancel, make(chan struct{})
	l.done, l.cancel = done, cancel
	l.running.Go(func() {
		defer cancel()
		defer close(done)
		if before != nil {
			endBefore()
			<-before
		}
		if ctx.Err() == nil {
			work(ctx)
		}
	})
}

// openAfter returns the first task after that one which is not known to be solved, from the beginning again after the
// last; nil if there is none. It grades nothing.
func (w *workbook) openAfter(id string) *task {
	at := slices.IndexFunc(w.tasks, func(t task) bool { return t.id == id })
	for i := range w.tasks {
		t := &w.tasks[(at+1+i)%len(w.tasks)]
		if w.mark(*t) != markSolved {
			return t
		}
	}
	return nil
}

// What is known of a task without grading it.
const (
	markOpen    = "   "
	markSolved  = "[x]"
	markChanged = "[?]" // since it was graded
)

func (w *workbook) mark(t task) string {
	if t.prediction != nil {
		if r, err := w.record(t); err == nil && r.Answer != "" {
			return markSolved
		}
		return markOpen
	}
	switch solved, known, err := w.remembered(*t.exercise); {
	case err != nil || !known:
		return markChanged
	case solved:
		return markSolved
	}
	return markOpen
}
