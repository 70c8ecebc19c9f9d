package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/06-own-fields"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/06-own-fields/starter"
)

func TestOwnFields(t *testing.T) {
	e := graders.OwnFields
	e.RejectsStarter(t, starter.ApplySettings)
	e.Accepts(t, answers.ApplySettings, answers.RemembersItsKeys)
	e.Rejects(t, "extracts and adds", answers.ExtractsAndAdds, "depth is ")
	e.Rejects(t, "remembers in memory", answers.RemembersInMemory, "mine is not there")
	e.Rejects(t, "remembers values in memory", answers.RemembersValuesInMemory, "same is not there")
	e.Rejects(t, "remembers by the UID in memory", answers.RemembersByTheUIDInMemory,
		"called in a later process, without the keys size and weight")
	e.Rejects(t, "has a manager for each process", answers.HasAManagerForEachProcess,
		"called in a later process, without the keys size and weight")
	e.Rejects(t, "returns at once without settings", answers.ReturnsAtOnceWithoutSettings, "without settings")
}
