package workqueue_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
	answers "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/03-forget"
	starter "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/03-forget/starter"
)

func TestForget(t *testing.T) {
	e := graders.Forget
	e.RejectsStarter(t, starter.Worker)
	e.Accepts(t, answers.Worker, answers.HasALimiterOfItsOwn)
	e.Rejects(t, "calls Forget after a failure, too", answers.CallsForgetAfterAFailureToo, "twice as long")
	e.Rejects(t, "calls Forget instead of Done", answers.CallsForgetInsteadOfDone, "Done")
	e.Rejects(t, "retries at once", answers.RetriesAtOnce, "twice as long")
	e.Rejects(t, "does not retry", answers.DoesNotRetry, "0 retries")
	e.Rejects(t, "adds the key after a success, too", answers.AddsTheKeyAfterASuccessToo, "after a success")
	e.Rejects(t, "forgets after many failures", answers.ForgetsAfterManyFailures, "twice as long")
	e.Rejects(t, "does not forget one failure", answers.DoesNotForgetOneFailure, "as the very first")
	e.Rejects(t, "has one delay for all keys", answers.HasOneDelayForAllKeys, "the count belongs to the key")
}
