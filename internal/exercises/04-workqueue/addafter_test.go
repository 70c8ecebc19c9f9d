package workqueue_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
	answers "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/08-add-after"
	starter "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/08-add-after/starter"
)

func TestAddAfter(t *testing.T) {
	e := graders.AddAfter
	e.RejectsStarter(t, starter.Worker)
	e.Accepts(t, answers.Worker, answers.HasTimersOfItsOwn)
	e.Rejects(t, "sleeps in the worker", answers.SleepsInTheWorker, "holds its key")
	e.Rejects(t, "starts a timer for each sync", answers.StartsATimerForEachSync, "adds another one")
	e.Rejects(t, "comes back only once", answers.ComesBackOnlyOnce, "and again within")
}
