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
	e.Rejects(t, "calls AddAfter with 0", answers.CallsAddAfterWith0, "AddAfter with 0")
	e.Rejects(t, "does not retry after a failure", answers.DoesNotRetryAfterAFailure, "succeeds with its last retry")
	e.Rejects(t, "calls AddRateLimited after a success", answers.CallsAddRateLimitedAfterASuccess, "comes after that time")
	e.Rejects(t, "does not forget a key that comes again", answers.DoesNotForgetAKeyThatComesAgain, "after each success")
	e.Rejects(t, "comes back only once", answers.ComesBackOnlyOnce, "and again within")
	e.Rejects(t, "adds a failed key at once", answers.AddsAFailedKeyAtOnce, "it waits 0s")
}
