package exercise

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(ctx context.Context, work func())

var exercise = grade.Exercise[answer]{
	Learner:  starter,
	Accepted: []answer{ticks, sleeps},
	Rejected: []grade.Rejected[answer]{
		{Name: "never ends", Answer: neverEnds, Says: "it had not returned a day later"},
		{Name: "leaves a goroutine that waits", Answer: leavesWaiting, Says: "a goroutine still runs, in"},
		{Name: "leaves a goroutine that goes on for ever", Answer: leavesSleeping, Says: "a goroutine still runs, in"},
		{Name: "is called too often, and goes on for ever", Answer: tooOften, Says: "more than 60 calls"},
	},
	Timeout: 5 * time.Second,
	Grade: func(t *grade.T, answer answer) {
		t.Bubble(func(t *grade.T) {
			cleaned := make(chan struct{})
			defer func() { go func() { <-cleaned }() }() // ends with the cleanups, so they are in the bubble
			t.Cleanup(func() { close(cleaned) })
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour+time.Second)
			defer cancel()
			calls, returned := 0, make(chan struct{})
			go func() {
				defer close(returned)
				answer(ctx, func() {
					if calls++; calls > 60 {
						t.Reject("60 calls", "more than 60 calls", "the period")
					}
				})
			}()
			select {
			case <-returned:
			case <-time.After(24 * time.Hour):
				t.Reject("the answer returns", "it had not returned a day later", "ctx")
			}
			if calls != 60 {
				t.Reject("60 calls", fmt.Sprintf("%d calls", calls), "the period")
			}
		})
	},
}

func ticks(ctx context.Context, work func()) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			work()
		case <-ctx.Done():
			return
		}
	}
}

func sleeps(ctx context.Context, work func()) {
	for {
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			return
		}
		work()
	}
}

func neverEnds(ctx context.Context, work func()) {
	ticks(ctx, work)
	for {
		time.Sleep(time.Minute)
	}
}

func leavesWaiting(ctx context.Context, work func()) {
	go func() { <-make(chan struct{}) }()
	ticks(ctx, work)
}

func leavesSleeping(ctx context.Context, work func()) {
	go neverEnds(context.WithoutCancel(ctx), func() {})
	ticks(ctx, work)
}

func tooOften(_ context.Context, work func()) {
	for {
		time.Sleep(time.Second)
		work()
	}
}

// TestExercise skips: the answer is the starter.
func TestExercise(t *testing.T) { exercise.Test(t) }

func TestGrader(t *testing.T) { exercise.TestGrader(t) }
