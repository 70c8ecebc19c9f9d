package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// The size of the window is known later than the first text.
func TestTheTextFillsTheWindow(t *testing.T) {
	w := &workbook{root: t.TempDir()}
	e := exercise{ID: "1.1", Folder: "01-list/exercises/01-a", Title: "A"}
	words := strings.Repeat("word ", 40)
	readme := filepath.Join(e.Folder, "README.md")
	for name, text := range map[string]string{e.File(): "a", e.Starter(): "a", readme: "# 1.1 A\n\n" + words} {
		name = filepath.Join(w.root, name)
		_ = os.MkdirAll(filepath.Dir(name), 0o755)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &screen{w: w, width: 80, height: 24}
	s.show(w.taskOf(e))
	s.Update(tea.WindowSizeMsg{Width: 60, Height: 24})
	full := strings.TrimSpace(strings.Repeat("word ", 12))
	if lines := s.lines(); !slices.Equal(lines[3:6], []string{full, full, full}) {
		t.Errorf("the screen has\n%s", strings.Join(lines, "\n"))
	}
}

// In a narrow window, the keys do not fit in a line, and the text is longer than the window.
func TestANarrowWindowSaysHowToQuitAndThatThereIsMore(t *testing.T) {
	e := exercise{ID: "1.1", Folder: "01-list/exercises/01-a", Title: "A", Hints: []string{"Look."}}
	for _, size := range []tea.WindowSizeMsg{{Width: 40, Height: 15}, {Width: 20, Height: 8}, {Width: 40, Height: 3}} {
		s := &screen{w: &workbook{root: t.TempDir()}, task: task{id: e.ID, exercise: &e}, hints: 1}
		s.body = unwrapped(strings.Repeat("word\n", 40))
		s.Update(size)
		lines := s.lines()
		text := strings.Join(lines, "\n")
		if len(lines) > size.Height || !strings.Contains(text, "q quit") || size.Height > 3 && !strings.Contains(text, "down more") {
			t.Errorf("the screen of %d columns has %d lines:\n%s", size.Width, len(lines), text)
		}
	}
}
