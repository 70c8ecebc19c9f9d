package informer_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/02-informer"
	answers "example.com/client-go-workbook/internal/exercises/02-informer/answers/01-one-watch"
	starter "example.com/client-go-workbook/internal/exercises/02-informer/answers/01-one-watch/starter"
)

func TestOneWatch(t *testing.T) {
	e := graders.OneWatch
	e.RejectsStarter(t, starter.Run)
	e.Accepts(t, answers.Run, answers.RunsOneInformerWithoutAFactory, answers.ShutsDownEachHandler)
	e.Rejects(t, "makes an informer for each handler", answers.MakesAnInformerForEachHandler, "watches\n")
	e.Rejects(t, "has a buffer for each handler", answers.HasABufferForEachHandler, "it was called for 1000 of them")
	e.Rejects(t, "starts a goroutine for each call", answers.StartsAGoroutineForEachCall, "at the same time")
	e.Rejects(t, "waits until the informer is stopped", answers.WaitsUntilTheInformerIsStopped, "a handler was still running")
}
