package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/12-fake"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/12-fake/starter"
)

func TestFake(t *testing.T) {
	e := graders.Fake
	e.RejectsStarter(t, starter.Check)
	e.Accepts(t, answers.Check, answers.WaitsForTheStatus)
	e.Rejects(t, "counts the requests to the fake", answers.CountsTheRequestsToTheFake, "your Check returns nil")
	e.Rejects(t, "ignores the error of the second sync", answers.IgnoresTheErrorOfTheSecondSync,
		"its second sync of an object returns an error")
	e.Rejects(t, "takes a higher generation for right", answers.TakesAHigherGenerationForRight,
		"observedGeneration is higher than the object's generation")
	e.Rejects(t, "compares with the object before the sync", answers.ComparesWithTheObjectBeforeTheSync, "changes the spec")
	e.Rejects(t, "ignores errors of the server", answers.IgnoresErrorsOfTheServer, "when the API server does not answer")
	e.Rejects(t, "gives sync a fifth of a second", answers.GivesSyncAFifthOfASecond, "for a controller that is right")
}
