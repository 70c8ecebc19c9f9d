package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/07-retain"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/07-retain/starter"
)

func TestRetain(t *testing.T) {
	e := graders.Retain
	e.RejectsStarter(t, starter.Release)
	e.Accepts(t, answers.Release, answers.PatchesOneOwnerAway, answers.SendsTheUIDOnly)
	e.Rejects(t, "removes the finalizer first", answers.RemovesTheFinalizerFirst, "the finalizer stays until")
	e.Rejects(t, "compares the kind and the name", answers.ComparesTheKindAndTheName,
		"a reference to one of its name, created since, stays")
	e.Rejects(t, "releases all Secrets", answers.ReleasesAllSecrets, "a child of another DatabaseManager")
	e.Rejects(t, "removes the finalizer by its index", answers.RemovesTheFinalizerByItsIndex,
		"another one goes between your read and your write")
	e.Rejects(t, "removes by the index that it has just read", answers.RemovesByTheIndexThatItHasJustRead,
		"another one goes before your write")
	e.Rejects(t, "removes an owner by its index", answers.RemovesAnOwnerByItsIndex, "is no owner any more")
	e.Rejects(t, "takes the first page only", answers.TakesTheFirstPageOnly, "fill more than one page")
}
