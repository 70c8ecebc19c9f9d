package lister_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
	answers "example.com/client-go-workbook/internal/exercises/03-lister/answers/02-selector"
	starter "example.com/client-go-workbook/internal/exercises/03-lister/answers/02-selector/starter"
)

func TestSelector(t *testing.T) {
	e := graders.Selector
	e.RejectsStarter(t, starter.PodsOf)
	e.Accepts(t, answers.PodsOf, answers.ComparesTheLabelsItself)
	e.Rejects(t, "takes NotFound for no pods", answers.TakesNotFoundForNoPods, "and no error")
	e.Rejects(t, "leaves out what is being deleted", answers.LeavesOutWhatIsBeingDeleted, "whose deletion has begun")
	e.Rejects(t, "looks for the beginning of the key", answers.LooksForTheBeginningOfTheKey, "which is in namespace shop-2")
	e.Rejects(t, "keeps the selector", answers.KeepsTheSelector, "an earlier call")
}
