package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/04-conflict"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/04-conflict/starter"
)

func TestConflict(t *testing.T) {
	e := graders.Conflict
	e.RejectsStarter(t, starter.Increment)
	e.Accepts(t, answers.Increment, answers.SendsAPatchWithTheVersion)
	e.Rejects(t, "removes the version", answers.RemovesTheVersion, "an increment is lost")
	e.Rejects(t, "retries everything", answers.RetriesEverything, "it sends GET 5 times")
	e.Rejects(t, "wipes other keys", answers.WipesOtherKeys, "as others have written them")
	e.Rejects(t, "sends the old rest", answers.SendsTheOldRest, "as others have written them")
	e.Rejects(t, "hides other errors", answers.HidesOtherErrors, "500 InternalError: Increment returns an error")
	e.Rejects(t, "retries any error of Update", answers.RetriesAnyErrorOfUpdate, "InternalError: Increment sends no more")
	e.Rejects(t, "retries a busy server", answers.RetriesABusyServer, "429 TooManyRequests: Increment sends no more")
	e.Rejects(t, "retries a timeout", answers.RetriesATimeout, "504 Timeout: Increment sends no more")
	e.Rejects(t, "returns an error of its own", answers.ReturnsAnErrorOfItsOwn, "Increment returns this error")
	e.Rejects(t, "reads the number at the beginning", answers.ReadsTheNumberAtTheBeginning, ` apples", which is no number`)
}
