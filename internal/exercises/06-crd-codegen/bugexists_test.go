package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/09-bug-exists"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/09-bug-exists/starter"
)

func TestBugExists(t *testing.T) {
	e := graders.BugExists
	e.RejectsStarter(t, starter.Sync)
	e.Accepts(t, answers.Sync, answers.AsksForWhatItCreates)
	// By chance, the Deployment controller's own write makes the first conflict, before the grader does.
	e.Rejects(t, "takes a conflict for success", answers.TakesAConflictForSuccess, "what becomes of the error of")
	e.Rejects(t, "removes the one that the bug has created", answers.RemovesTheOneThatTheBugHasCreated, "it is gone")
	e.Rejects(t, "scales the one that the bug has created", answers.ScalesTheOneThatTheBugHasCreated, "its spec has changed")
	e.Rejects(t, "adds an owner", answers.AddsAnOwner, "owners [DatabaseManager shop")
	e.Rejects(t, "updates with a new object", answers.UpdatesWithANewObject, "their annotation is gone")
	e.Rejects(t, "adds a port", answers.AddsAPort, "something else in its spec")
}
