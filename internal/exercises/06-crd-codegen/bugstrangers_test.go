package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/11-bug-strangers"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/11-bug-strangers/starter"
)

func TestBugStrangers(t *testing.T) {
	e := graders.BugStrangers
	e.RejectsStarter(t, graders.BugStrangersAnswer{NewDeployment: starter.NewDeployment, NewService: starter.NewService})
	e.Accepts(t, graders.BugStrangersAnswer{NewDeployment: answers.NewDeployment, NewService: answers.NewService},
		graders.BugStrangersAnswer{NewDeployment: answers.DeploymentOfAllLabels, NewService: answers.ServiceOfAllLabels})
	e.Rejects(t, "leaves the Service as it was", answers.LeavesTheServiceAsItWas, "the selector of Service")
	e.Rejects(t, "sets a label of the pods only", answers.SetsALabelOfThePodsOnly, "the selector of Deployment")
	e.Rejects(t, "sets a label of the selector only", answers.SetsALabelOfTheSelectorOnly, "does not match template")
	e.Rejects(t, "adds the same label to all", answers.AddsTheSameLabelToAll, "also selects")
	e.Rejects(t, "selects by the name", answers.SelectsByTheName, "also selects")
	e.Rejects(t, "selects by a part of the UID", answers.SelectsByAPartOfTheUID, "also selects")
	e.Rejects(t, "selects by the names and the time", answers.SelectsByTheNamesAndTheTime, "has left behind")
	e.Rejects(t, "adds the name to the UID", answers.AddsTheNameToTheUID, "must be no more than 63")
	e.Rejects(t, "replaces the label app", answers.ReplacesTheLabelApp, "apart from the new label")
}
