package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/10-bug-twice"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/10-bug-twice/starter"
)

func TestBugTwice(t *testing.T) {
	e := graders.BugTwice
	e.RejectsStarter(t, starter.Run)
	e.Accepts(t, answers.Run, answers.Polls)
	e.Rejects(t, "drops the keys that come too early", answers.DropsTheKeysThatComeTooEarly, "has no Deployment")
	e.Rejects(t, "waits until there is a Deployment", answers.WaitsUntilThereIsADeployment, "has no Deployment")
	e.Rejects(t, "asks for the name only", answers.AsksForTheNameOnly, "has a Deployment")
}
