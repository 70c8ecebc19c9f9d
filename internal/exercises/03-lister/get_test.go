package lister_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
	answers "example.com/client-go-workbook/internal/exercises/03-lister/answers/01-get"
	starter "example.com/client-go-workbook/internal/exercises/03-lister/answers/01-get/starter"
)

func TestGet(t *testing.T) {
	e := graders.Get
	e.RejectsStarter(t, starter.Image)
	e.Accepts(t, answers.Image, answers.ComparesTheReason)
	e.Rejects(t, "takes NotFound for a failure", answers.TakesNotFoundForAFailure, `the error pod "`)
	e.Rejects(t, "takes every failure for NotFound", answers.TakesEveryFailureForNotFound, "and no error")
	e.Rejects(t, "looks for words in the error", answers.LooksForWordsInTheError, "not found")
	e.Rejects(t, "does not look at the error", answers.DoesNotLookAtTheError, "nil pointer")
	e.Rejects(t, "reads the whole store", answers.ReadsTheWholeStore, "200 objects")
	e.Rejects(t, "tries again", answers.TriesAgain, "also if it fails")
	e.Rejects(t, "takes Gone for NotFound", answers.TakesGoneForNotFound, "the store says Gone")
	e.Rejects(t, "takes the image from the status", answers.TakesTheImageFromTheStatus, `"x" and no error`)
	e.Rejects(t, "keeps what it has read", answers.KeepsWhatItHasRead, "which was updated")
}
