package workqueue_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
	answers "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/07-drain"
	starter "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/07-drain/starter"
)

func TestDrain(t *testing.T) {
	e := graders.Drain
	e.RejectsStarter(t, starter.Run)
	e.Accepts(t, answers.Run, answers.IsItsOwnWorker)
	e.Rejects(t, "begins no sync after ctx has ended", answers.BeginsNoSyncAfterCtxHasEnded, "sync(s)")
	e.Rejects(t, "waits with ShutDownWithDrain", answers.WaitsWithShutDownWithDrain, "were still queued")
	e.Rejects(t, "begins the limit at the start", answers.BeginsTheLimitAtTheStart, "when does the time")
	e.Rejects(t, "does not wait for the last sync", answers.DoesNotWaitForTheLastSync, "while a sync ran")
	e.Rejects(t, "limits only what begins later", answers.LimitsOnlyWhatBeginsLater, "that runs when ctx ends")
	e.Rejects(t, "sleeps in place of waiting", answers.SleepsInPlaceOfWaiting, "while a sync ran")
	e.Rejects(t, "hears of the end only during a sync", answers.HearsOfTheEndOnlyDuringASync, "the worker waits in Get")
	e.Rejects(t, "returns no key that was synced", answers.ReturnsNoKeyThatWasSynced, "added again during its sync")
}
