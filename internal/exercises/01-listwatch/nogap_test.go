package listwatch_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/01-listwatch"
	answers "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/02-no-gap"
	starter "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/02-no-gap/starter"
)

func TestNoGap(t *testing.T) {
	e := graders.NoGap
	e.RejectsStarter(t, starter.ListAndWatch)
	e.Accepts(t, answers.ListAndWatch, answers.ListsInPages)
	e.Rejects(t, "watches from the version of the last pod", answers.WatchesFromTheVersionOfTheLastPod, "seen      MODIFIED web-a")
	e.Rejects(t, "watches from the newest version of a pod", answers.WatchesFromTheNewestVersionOfAPod, "seen      ADDED gone")
	e.Rejects(t, "watches from the next version", answers.WatchesFromTheNextVersion, "seen      ADDED web-d")
	e.Rejects(t, "leaves out names of the list", answers.LeavesOutNamesOfTheList, "which events your code leaves out")
	e.Rejects(t, "returns before the last report", answers.ReturnsBeforeTheLastReport, "before your function returns")
	e.Rejects(t, "gives up in silence", answers.GivesUpInSilence, "your function returned nil")
	e.Rejects(t, "compares versions as texts", answers.ComparesVersionsAsTexts, "ADDED web-e")
}
