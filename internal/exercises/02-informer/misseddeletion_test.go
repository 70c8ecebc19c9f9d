package informer_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/02-informer"
	answers "example.com/client-go-workbook/internal/exercises/02-informer/answers/03-missed-deletion"
	starter "example.com/client-go-workbook/internal/exercises/02-informer/answers/03-missed-deletion/starter"
)

func TestMissedDeletion(t *testing.T) {
	e := graders.MissedDeletion
	e.RejectsStarter(t, starter.PrintDeletions)
	e.Accepts(t, answers.PrintDeletions, answers.HasAnUntypedHandler)
	e.Rejects(t, "asserts a pod", answers.AssertsAPod, "cache.DeletedFinalStateUnknown, not *v1.Pod (mistakes.go:")
	e.Rejects(t, "prints when the phase changes", answers.PrintsWhenThePhaseChanges, "0 deletions")
	e.Rejects(t, "prints when the deletion begins", answers.PrintsWhenTheDeletionBegins, "0 deletions")
	e.Rejects(t, "asks the tombstone for the name", answers.AsksTheTombstoneForTheName, "(mistakes.go:")
	e.Rejects(t, "remembers the phase", answers.RemembersThePhase, "has the last phase")
	e.Rejects(t, "asks the store", answers.AsksTheStore, "the store already has the next pod")
	e.Rejects(t, "prints later", answers.PrintsLater, "after the handler had returned")
	e.Rejects(t, "trusts a pod that had ended", answers.TrustsAPodThatHadEnded, "phase unknown\"")
	e.Rejects(t, "prints once for all handlers", answers.PrintsOnceForAllHandlers, "two handlers")
}
