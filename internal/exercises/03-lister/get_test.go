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
	e.Rejects(t, "reads the whole store", answers.ReadsTheWholeStore, "200 objects")
	e.Rejects(t, "tries again", answers.TriesAgain, "also if it fails")
	e.Rejects(t, "takes Gone for NotFound", answers.TakesGoneForNotFound, "the store says Gone")
	e.Rejects(t, "takes the image from the status", answers.TakesTheImageFromTheStatus, `"x" and no error`)
	e.Rejects(t, "keeps what it has read", answers.KeepsWhatItHasRead, "which was updated")
}
