package informer_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/02-informer"
	answers "example.com/client-go-workbook/internal/exercises/02-informer/answers/08-remove-handler"
	starter "example.com/client-go-workbook/internal/exercises/02-informer/answers/08-remove-handler/starter"
)

func TestRemoveHandler(t *testing.T) {
	e := graders.RemoveHandler
	e.RejectsStarter(t, starter.Follow)
	e.Accepts(t, answers.Follow, answers.SilencesItsHandlerFirst)
	e.Rejects(t, "removes without a wait", answers.RemovesWithoutAWait, "was written after Follow had returned")
	e.Rejects(t, "silences and removes the handler", answers.SilencesAndRemovesTheHandler, "while a line was being written")
	e.Rejects(t, "removes the handler from itself", answers.RemovesTheHandlerFromItself, "it had not returned hours later")
	e.Rejects(t, "removes and sleeps", answers.RemovesAndSleeps, "was written after Follow had returned")
	e.Rejects(t, "silences, removes and sleeps", answers.SilencesRemovesAndSleeps, "while a line was being written")
}
