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

type answer = func(context.Context, numbers) int

type list struct{ rest []int }

func (l *list) Next(context.Context) (int, error) {
	if len(l.rest) == 0 {
		return 0, errEnd
	}
	next := l.rest[0]
	l.rest = l.rest[1:]
	return next, nil
}

var exercise = grade.Exercise[answer]{
	Learner:  sum,
	Accepted: []answer{sum, recursive},
	Rejected: []grade.Rejected[answer]{
		{Name: "does nothing", Answer: doesNothing, Says: "returned 0"},
		{Name: "is hard-coded", Answer: hardCoded, Says: "returned 42"},
		{Name: "panics", Answer: panics, Says: "panic: assignment to entry in nil map (exercise.go:45)"},
		{Name: "panics in a goroutine", Answer: panicsInGoroutine, Says: "nil pointer dereference (exercise.go:53)"},
		{Name: "exits", Answer: exits, Says: "the program has ended by itself (exit status 0)"},
		{Name: "loops", Answer: loops, Says: "the answer still runs (exercise.go:6"},
		{Name: "waits", Answer: waits, Says: "expected  the sum of"},
		{Name: "deadlocks", Answer: deadlocks, Says: "(exercise.go:80)"},
		{Name: "leaks", Answer: leaks, Says: "a goroutine still runs, in example.com/client-go-workbook/internal/exercise/grade/exercises/01-sum.leaks.func1 (exercise.go:84)"},
		{Name: "takes memory", Answer: takesMemory, Says: "it uses more than 2 GiB of memory (exercise.go:"},
		{Name: "prints a megabyte", Answer: printsAMegabyte, Says: "returned 0"},
	},
	Timeout: 3 * time.Second,
	Grade: func(t *grade.T, sum answer) {
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

// TestExercise grades the answer in Learner, which is a correct one, and reads the verdict that a program would get.
func TestExercise(t *testing.T) {
	file := filepath.Join(t.TempDir(), "verdict")
	t.Setenv("WORKBOOK_VERDICT", file)
	exercise.Test(t)
	if text, err := os.ReadFile(file); err != nil || string(text) != `{"passed":true}` {
		t.Errorf("the verdict is %s, %v", text, err)
	}
}

func TestGrader(t *testing.T) { exercise.TestGrader(t) }
