package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/08-adopt"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/08-adopt/starter"
)

func TestAdopt(t *testing.T) {
	e := graders.Adopt
	e.RejectsStarter(t, starter.Adopt)
	e.Accepts(t, answers.Adopt, answers.AsksForTheOwnerFirst, answers.ReadsAgainAfterAConflict)
	e.Rejects(t, "takes it from another owner", answers.TakesItFromAnotherOwner, "it belongs to another DatabaseManager")
	e.Rejects(t, "searches the annotation for the name", answers.SearchesTheAnnotationForTheName, "begins like that")
	e.Rejects(t, "ignores that it is not allowed", answers.IgnoresThatItIsNotAllowed, "Adopt returns an error")
	e.Rejects(t, "compares the names only", answers.ComparesTheNamesOnly, "it belongs to the one that has replaced")
	e.Rejects(t, "adopts for one that is gone", answers.AdoptsForOneThatIsGone, "the DatabaseManager is gone")
	e.Rejects(t, "believes the store after an error", answers.BelievesTheStoreAfterAnError, "nothing is written when it is not known")
	e.Rejects(t, "finds its reference by the name", answers.FindsItsReferenceByTheName, "an earlier one of its name")
	e.Rejects(t, "removes an owner of its name", answers.RemovesAnOwnerOfItsName,
		"other owners of the Secret stay: the earlier DatabaseManager db")
	e.Rejects(t, "asks for d only once", answers.AsksForDOnlyOnce, "the Secret is changed and the DatabaseManager is")
	e.Rejects(t, "knows its controller by the name", answers.KnowsItsControllerByTheName, "belongs to an earlier DatabaseManager")
}
