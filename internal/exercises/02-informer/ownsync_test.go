package informer_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/02-informer"
	answers "example.com/client-go-workbook/internal/exercises/02-informer/answers/02-own-sync"
	starter "example.com/client-go-workbook/internal/exercises/02-informer/answers/02-own-sync/starter"
)

func TestOwnSync(t *testing.T) {
	e := graders.OwnSync
	e.RejectsStarter(t, starter.Load)
	e.Accepts(t, answers.Load, answers.Polls)
	e.Rejects(t, "remembers by name", answers.RemembersByName, "under the name of a deleted one")
	e.Rejects(t, "waits for its handler without ctx", answers.WaitsForItsHandlerWithoutCtx, "while remember was running")
	e.Rejects(t, "counts the pods of the synced store", answers.CountsThePodsOfTheSyncedStore, "of them when Load returned")
	e.Rejects(t, "goes through the store first", answers.GoesThroughTheStoreFirst, "while it runs for others")
	e.Rejects(t, "remembers for all calls", answers.RemembersForAllCalls, "a second Load of the same informer")
	e.Rejects(t, "waits for one pod at least", answers.WaitsForOnePodAtLeast, "also if no pod is in it")
}
