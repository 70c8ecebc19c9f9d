package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/03-nothing-differs"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/03-nothing-differs/starter"
)

func TestNothingDiffers(t *testing.T) {
	e := graders.NothingDiffers
	e.RejectsStarter(t, starter.EnsureService)
	e.Accepts(t, answers.EnsureService, answers.SetsItsFieldsInACopy)
	e.Rejects(t, "compares all labels", answers.ComparesAllLabels, "label team")
	e.Rejects(t, "adds to the selector", answers.AddsToTheSelector, "selector is also=this,app=orders")
	e.Rejects(t, "looks for the label's key", answers.LooksForTheLabelsKey, "the label workbook/database is somebodys")
	e.Rejects(t, "has no map for the label", answers.HasNoMapForTheLabel, "panic: assignment to entry in nil map")
}
