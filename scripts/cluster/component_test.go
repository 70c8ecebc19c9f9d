package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLastWords(t *testing.T) {
	const lost = `E1127 20:51:00.1 1 controller.go:5] "Unhandled Error" err="connection lost"`
	for name, test := range map[string]struct{ log, last string }{
		"none":     {"I1127 20:51:00.1 1 a.go:5] started\n", ""},
		"klog's":   {lost + "\nI1127 20:51:00.2 1 a.go:5] ended\n", lost},
		"etcd's":   {`{"level":"fatal","msg":"discovery failed","error":"open x: too many open files"}`, "discovery failed: open x: too many open files"},
		"a panic":  {"I1127 20:51:00.1 1 a.go:5] started\npanic: no\n", "panic: no"},
		"a note's": {lost + "\n" + `E1127 1 c.go:5] "will retry later" err="error creating fsnotify watcher: too many open files"` + "\n", lost},
	} {
		t.Run(name, func(t *testing.T) {
			l := local{folder: t.TempDir()}
			if err := os.Mkdir(filepath.Join(l.folder, "logs"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(l.log("etcd"), []byte("E1126 before\n"+test.log), 0o600); err != nil {
				t.Fatal(err)
			}
			log, last := l.lastWords("etcd", int64(len("E1126 before\n")))
			if last != test.last || strings.Contains(log, "before") || strings.Contains(log, "fsnotify") {
				t.Errorf("got %q of %q, want %q", last, log, test.last)
			}
		})
	}
}
