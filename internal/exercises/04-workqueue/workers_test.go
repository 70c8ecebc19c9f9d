package workqueue_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
	answers "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/06-workers"
	starter "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/06-workers/starter"
)

func TestWorkers(t *testing.T) {
	e := graders.Workers
	e.RejectsStarter(t, starter.Run)
	e.Accepts(t, answers.Run, answers.ParallelizesTheLoop)
	e.Rejects(t, "starts a goroutine for each key", answers.StartsAGoroutineForEachKey, "at the same time")
	e.Rejects(t, "syncs one key after the other", answers.SyncsOneKeyAfterTheOther, "1 sync(s) at the same time")
	e.Rejects(t, "waits for a whole batch", answers.WaitsForAWholeBatch, "workers that wait for each other")
	e.Rejects(t, "returns with the first worker", answers.ReturnsWithTheFirstWorker, "for all of them")
	e.Rejects(t, "stops asking at the shutdown", answers.StopsAskingAtTheShutdown, "who calls Get after that?")
	e.Rejects(t, "waits for its own worker only", answers.WaitsForItsOwnWorkerOnly, "for all of them")
}
