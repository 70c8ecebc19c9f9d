package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/04-condition"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/04-condition/starter"
)

func TestCondition(t *testing.T) {
	e := graders.Condition
	e.RejectsStarter(t, starter.WithReady)
	e.Accepts(t, answers.WithReady, answers.LooksForTheOldTime)
	e.Rejects(t, "appends to the store's list", answers.AppendsToTheStoresList, "behind the end")
	e.Rejects(t, "keeps an old generation", answers.KeepsAnOldGeneration, "when only the generation is a new one")
	e.Rejects(t, "takes a new reason for a transition", answers.TakesANewReasonForATransition, "lastTransitionTime stays")
	e.Rejects(t, "has the time in the message", answers.HasTheTimeInTheMessage, "the same state has the same condition")
	e.Rejects(t, "remembers the time itself", answers.RemembersTheTimeItself, "lastTransitionTime")
}
