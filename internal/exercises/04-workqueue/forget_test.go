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
	e.Rejects(t, "calls Forget instead of Done", answers.CallsForgetInsteadOfDone, "Done")
	e.Rejects(t, "forgets after many failures", answers.ForgetsAfterManyFailures, "twice as long")
	e.Rejects(t, "has one delay for all keys", answers.HasOneDelayForAllKeys, "the count belongs to the key")
}
