package workqueue_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
	answers "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/02-worker"
	starter "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/02-worker/starter"
)

func TestWorker(t *testing.T) {
	e := graders.Worker
	e.RejectsStarter(t, starter.Worker)
	e.Accepts(t, answers.Worker, answers.DefersDoneInAFunction)
	e.Rejects(t, "asks Len before Done", answers.AsksLenBeforeDone, "added again during its sync, and is left at ShutDown")
	e.Rejects(t, "does not wait for the last sync", answers.DoesNotWaitForTheLastSync, "it returned while the sync ran")
	e.Rejects(t, "syncs each key twice", answers.SyncsEachKeyTwice, "one call of syncHandler")
}
