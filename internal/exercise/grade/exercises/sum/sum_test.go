package exercise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type sumAnswer = func(context.Context, numbers) int

type list struct{ rest []int }

func (l *list) Next(context.Context) (int, error) {
	if len(l.rest) == 0 {
		return 0, errEnd
	}
	next := l.rest[0]
	l.rest = l.rest[1:]
	return next, nil
}

var sumExercise = grade.Exercise[sumAnswer]{
	Timeout: 3 * time.Second,
	Grade: func(t *grade.T, sum sumAnswer) {
		numbers, total := make([]int, 1+t.Rand.IntN(5)), 0
		for i := range numbers {
			numbers[i] = 100 + t.Rand.IntN(100)
			total += numbers[i]
		}
		t.Doing("the sum of %d", numbers)
		if got := sum(t.Context(), &list{numbers}); got != total {
			t.Reject(fmt.Sprintf("the sum of %d, %d", numbers, total), fmt.Sprintf("the function returned %d", got), "the loop over Next")
		}
	},
}

// TestVerdictFile reads the verdict that a program gets.
func TestVerdictFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "verdict")
	t.Setenv("WORKBOOK_VERDICT", file)
	sumExercise.Test(t, sum)
	if text, err := os.ReadFile(file); err != nil || string(text) != `{"passed":true}` {
		t.Errorf("the verdict is %s, %v", text, err)
	}
}

// TestUntouched is in the folder of an exercise that nobody has begun with, and then somebody has.
func TestUntouched(t *testing.T) {
	root := t.TempDir()
	folder, starter := filepath.Join(root, "01-sum", "exercises", "01-sum"), filepath.Join("answers", "01-sum", "starter")
	for _, folder := range []string{folder, filepath.Join(root, "internal", "exercises", "01-sum", starter)} {
		err := os.MkdirAll(folder, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "exercise.go"), []byte("package exercise\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	isSkipped := func() (skipped bool) {
		t.Run("exercise", func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			sumExercise.Test(t, sum)
		})
		return skipped
	}
	if !isSkipped() {
		t.Error("the untouched exercise was graded")
	}
	if err := os.WriteFile("exercise.go", []byte("package exercise // mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if isSkipped() {
		t.Error("the answer was not graded")
	}
}

func TestSum(t *testing.T) {
	e := sumExercise
	e.RejectsStarter(t, doesNothing)
	e.Accepts(t, sum, recursive)
	e.Rejects(t, "does nothing", doesNothing, "returned 0")
	e.Rejects(t, "is hard-coded", hardCoded, "returned 42")
	e.Rejects(t, "panics", panics, "panic: assignment to entry in nil map (exercise.go:45)")
	e.Rejects(t, "panics in a goroutine", panicsInGoroutine, "nil pointer dereference (exercise.go:53)")
	e.Rejects(t, "exits", exits, "the program has ended by itself (exit status 0)")
	e.Rejects(t, "loops", loops, "the answer still runs (exercise.go:6")
	e.Rejects(t, "waits", waits, "expected  the sum of")
	e.Rejects(t, "deadlocks", deadlocks, "(exercise.go:80)")
	e.Rejects(t, "leaks", leaks, "a goroutine still runs, in example.com/client-go-workbook/internal/exercise/grade/exercises/sum.leaks.func1 (exercise.go:84)")
	e.Rejects(t, "takes memory", takesMemory, "it uses more than 2 GiB of memory (exercise.go:")
	e.Rejects(t, "prints a megabyte", printsAMegabyte, "returned 0")
}
