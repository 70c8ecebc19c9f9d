package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/01-rule"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/01-rule/starter"
)

func TestRule(t *testing.T) {
	e := graders.Rule
	e.RejectsStarter(t, starter.Rules)
	e.Accepts(t, answers.Rules, answers.AsksInAnotherWay)
	e.Rejects(t, "reads a field that can be missing", answers.ReadsAFieldThatCanBeMissing, "no such key: volumeSize")
	e.Rejects(t, "rejects by an error", answers.RejectsByAnError, "cannot be evaluated")
	e.Rejects(t, "names what CEL does not know", answers.NamesWhatCELDoesNotKnow, "undeclared reference to 'old'")
	e.Rejects(t, "has one message for all", answers.HasOneMessageForAll, "with a message that names the field")
}
