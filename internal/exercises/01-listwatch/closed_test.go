package listwatch_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/01-listwatch"
	answers "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/03-closed"
	starter "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/03-closed/starter"
)

func TestClosed(t *testing.T) {
	e := graders.Closed
	e.RejectsStarter(t, starter.Follow)
	e.Accepts(t, answers.Follow, answers.UsesARetryWatcher)
	e.Rejects(t, "ends with the first watch", answers.EndsWithTheFirstWatch, "returned the error: the watch was closed")
	e.Rejects(t, "spins on the closed channel", answers.SpinsOnTheClosedChannel, "seen      none")
	e.Rejects(t, "lists again and misses the gap", answers.ListsAgainAndMissesTheGap, "seen      ADDED web-c")
	e.Rejects(t, "takes no version of a deletion", answers.TakesNoVersionOfADeletion, "seen      DELETED web-")
	e.Rejects(t, "returns before the last report", answers.ReturnsBeforeTheLastReport, "who waits for it")
}
