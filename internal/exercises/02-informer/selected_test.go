package informer_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/02-informer"
	answers "example.com/client-go-workbook/internal/exercises/02-informer/answers/04-selected"
	starter "example.com/client-go-workbook/internal/exercises/02-informer/answers/04-selected/starter"
)

func TestSelected(t *testing.T) {
	e := graders.Selected
	e.RejectsStarter(t, starter.NewFactory)
	e.Accepts(t, answers.NewFactory, answers.CombinesSmallTweaks)
	e.Rejects(t, "overwrites the reflector's options", answers.OverwritesTheReflectorsOptions, "with fieldSelector, labelSelector, watch")
	e.Rejects(t, "selects the label by a field", answers.SelectsTheLabelByAField, "metadata.labels.app")
	e.Rejects(t, "leaves out what has ended", answers.LeavesOutWhatHasEnded, "selects by the phase, too")
	e.Rejects(t, "keeps the selectors in variables", answers.KeepsTheSelectorsInVariables, "selects as another factory")
	e.Rejects(t, "has one factory for each namespace", answers.HasOneFactoryForEachNamespace, "of a second factory")
}
