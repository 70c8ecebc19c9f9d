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
