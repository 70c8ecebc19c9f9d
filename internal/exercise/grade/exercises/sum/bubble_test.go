package exercise

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type bubbleAnswer = func(ctx context.Context, work func())

// bubbleExercise is graded in a bubble: call work every minute until ctx ends.
var bubbleExercise = grade.Exercise[bubbleAnswer]{
	Timeout: 5 * time.Second,
	Grade: func(t *grade.T, answer bubbleAnswer) {
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

func TestBubble(t *testing.T) {
	e := bubbleExercise
	e.RejectsStarter(t, func(context.Context, func()) {})
	e.Accepts(t, ticks, sleeps)
	e.Rejects(t, "never ends", neverEnds, "it had not returned a day later")
	e.Rejects(t, "leaves a goroutine that waits", leavesWaiting, "a goroutine still runs, in")
	e.Rejects(t, "leaves a goroutine that goes on for ever", leavesSleeping, "a goroutine still runs, in")
	e.Rejects(t, "is called too often, and goes on for ever", tooOften, "more than 60 calls")
}
