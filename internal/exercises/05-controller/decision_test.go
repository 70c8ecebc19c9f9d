package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/05-decision"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/05-decision/starter"
)

func TestDecision(t *testing.T) {
	e := graders.Decision
	e.RejectsStarter(t, starter.Take)
	e.Accepts(t, answers.Take, answers.DecidesAgain)
	e.Rejects(t, "retries on conflict", answers.RetriesOnConflict, "you have taken it away")
	e.Rejects(t, "patches without a version", answers.PatchesWithoutAVersion, "you have taken it away")
	e.Rejects(t, "decides once", answers.DecidesOnce, "you have taken it away")
	e.Rejects(t, "changes the store for a moment", answers.ChangesTheStoreForAMoment, "one is another while you send PUT of configmaps")
	e.Rejects(t, "reads, decides and patches", answers.ReadsDecidesAndPatches, "just before the write")
	e.Rejects(t, "trusts the field manager", answers.TrustsTheFieldManager, "by your Take: ben")
	e.Rejects(t, "compares the beginning", answers.ComparesTheBeginning, "how do you compare the holder with me?")
	e.Rejects(t, "returns conflicts only", answers.ReturnsConflictsOnly, "500 InternalError: Take returns an error")
	e.Rejects(t, "hides the last of many conflicts", answers.HidesTheLastOfManyConflicts, `it returns nil, and holder is ""`)
	e.Rejects(t, "gives it back after a conflict", answers.GivesItBackAfterAConflict, "you still hold it")
	e.Rejects(t, "adds what may be there", answers.AddsWhatMayBeThere, "you have taken it away")
}
