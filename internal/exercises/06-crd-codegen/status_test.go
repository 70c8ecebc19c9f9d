package codegen_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/06-crd-codegen"
	answers "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/03-status"
	starter "example.com/client-go-workbook/internal/exercises/06-crd-codegen/answers/03-status/starter"
)

func TestStatus(t *testing.T) {
	e := graders.Status
	e.RejectsStarter(t, starter.WriteStatus)
	e.Accepts(t, answers.WriteStatus, answers.SendsTheTwoFieldsOnly)
	e.Rejects(t, "says that a spec it has not read is processed", answers.SaysThatASpecItHasNotReadIsProcessed,
		"observedGeneration is at most 1")
	e.Rejects(t, "drops the conditions", answers.DropsTheConditions, "the conditions stay")
	e.Rejects(t, "writes the status of another object of that name", answers.WritesTheStatusOfAnotherObjectOfThatName,
		"the new object has no status")
	e.Rejects(t, "leaves out a number of 0", answers.LeavesOutANumberOf0, "availableReplicas is 0")
	e.Rejects(t, "returns conflicts only", answers.ReturnsConflictsOnly, "WriteStatus returns an error")
}
