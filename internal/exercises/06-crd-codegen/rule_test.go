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
	e.Rejects(t, "has one rule for all", answers.HasOneRuleForAll, "when the object is created")
	e.Rejects(t, "lets volumeSize be removed", answers.LetsVolumeSizeBeRemoved, "without volumeSize, is rejected")
	e.Rejects(t, "rejects by an error", answers.RejectsByAnError, "cannot be evaluated")
	e.Rejects(t, "names what CEL does not know", answers.NamesWhatCELDoesNotKnow, "undeclared reference to 'old'")
	e.Rejects(t, "has no messages", answers.HasNoMessages, "with a message of your rules")
	e.Rejects(t, "has one message for all", answers.HasOneMessageForAll, "with a message that names the field")
	e.Rejects(t, "counts a missing volumeSize as 0", answers.CountsAMissingVolumeSizeAs0, "without volumeSize, is rejected")
	e.Rejects(t, "forbids one engine", answers.ForbidsOneEngine, "is rejected when it was")
}
