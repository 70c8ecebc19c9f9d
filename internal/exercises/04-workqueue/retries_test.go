package workqueue_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
	answers "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/04-retries"
	starter "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/04-retries/starter"
)

func TestRetries(t *testing.T) {
	e := graders.Retries
	e.RejectsStarter(t, starter.Worker)
	e.Accepts(t, answers.Worker, answers.CountsTheRetriesItself)
	e.Rejects(t, "has one count for all keys", answers.HasOneCountForAllKeys, "the count of this key")
	e.Rejects(t, "drops a key without Done", answers.DropsAKeyWithoutDone, "0 sync(s)")
	e.Rejects(t, "sleeps and retries in the worker", answers.SleepsAndRetriesInTheWorker, "at once")
	e.Rejects(t, "retries once at least", answers.RetriesOnceAtLeast, "maxRetries is 0")
}
