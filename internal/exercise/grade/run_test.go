package grade

import (
	"slices"
	"strings"
	"testing"
)

func TestPrintedHasTenLinesOfTheAnswer(t *testing.T) {
	var out, err output
	for range 12 {
		_, _ = out.Write([]byte("I1121 18:00:00.000000 1 log.go:1] of klog\nmine\n"))
	}
	_, _ = err.Write([]byte("panic: of the answer\n\ngoroutine 1 [running]:\n"))
	if got := printed(&out, &err); len(got) != 11 || slices.Index(got, "mine") != 0 || got[10] != "... and 2 more lines" {
		t.Errorf("printed %q", got)
	}
	_, _ = out.Write([]byte(strings.Repeat("x", 1<<20)))
	if got := printed(&out); got[10] != "... 1049140 bytes in all" || out.Len() > kept {
		t.Errorf("printed %q, and %d bytes are kept", got, out.Len())
	}
}

// The mutation detector prints a line whenever an informer starts, so the line alone says nothing about the answer.
func TestAnEndWithoutVerdictHasItsCause(t *testing.T) {
	const on = "W1121 18:00:00.000000 1 mutation_detector.go:54] Mutation detector is enabled, this will result in memory leakage.\n"
	const race = "==================\nWARNING: DATA RACE\nWrite at 0x00c0 by goroutine 8:\n  x.Add.func1()\n" +
		"      /wb/exercises/01-x/exercise.go:12 +0x1\n\nPrevious write at 0x00c0 by goroutine 7:\n" +
		"      /wb/exercises/01-x/exercise.go:20 +0x1\n\nGoroutine 8 (running) created at:\n  testing.tRunner()\n"
	for stderr, want := range map[string]string{
		on: "the program has ended by itself (exit status 3)",
		on + "panic: cache *v1.Pod modified\n\ngoroutine 7 [running]:\n":                            "an object in the store was changed",
		on + "panic: no pods\n\ngoroutine 7 [running]:\n\t/wb/exercises/01-x/exercise.go:12 +0x1\n": "panic: no pods (exercise.go:12)",
		race: "a data race (exercise.go:12) (exercise.go:20)",
		on + "panic: of the grader\n\ngoroutine 7 [running]:\n": "not graded: panic: of the grader",
		on + "panic: nil\n\ngoroutine 7 [running]:\n\tk8s.io/client-go@v0.37.2/tools/watch/retrywatcher.go:1 +0x1\n":// not of the grader
		"panic: nil, in client-go",
	} {
		if got := withoutVerdict(stderr, "exit status 3", "an answer").String(); !strings.Contains(got, want) {
			t.Errorf("the verdict is\n%s\nand does not say %q, for\n%s", got, want, stderr)
		}
	}
}

func TestPlaceIsThatOfTheGoroutineThatRuns(t *testing.T) {
	const file = "\t/wb/exercises/01-x/exercise.go:"
	new := "goroutine 9 [runnable]:\nx.f.func1()\n" + file + "1 +0x1\ncreated by x.f\n" + file + "12 +0x1\n"
	waits := "goroutine 5 [select]:\nx.f()\n" + file + "7 +0x1\n"
	loops := "goroutine 6 [runnable]:\nx.g()\n" + file + "9 +0x1\n"
	for trace, want := range map[string]string{
		waits:                 " (exercise.go:7)",
		waits + "\n" + loops:  " (exercise.go:9)",
		new:                   " (exercise.go:12)",
		"goroutine 1 [sleep]": "",
	} {
		if got := place(trace); got != want {
			t.Errorf("the place is %q, want %q, for\n%s", got, want, trace)
		}
	}
}
