package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/09-stale-store"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/09-stale-store/starter"
)

func TestStaleStore(t *testing.T) {
	e := graders.StaleStore
	e.RejectsStarter(t, starter.EnsureSecret)
	e.Accepts(t, answers.EnsureSecret, answers.AsksTheServer)
	e.Rejects(t, "overwrites", answers.Overwrites, "has another password")
	e.Rejects(t, "applies again", answers.AppliesAgain, "has another password")
	e.Rejects(t, "deletes the old one", answers.DeletesTheOldOne, "it sends DELETE secrets/")
	e.Rejects(t, "remembers what it has created", answers.RemembersWhatItHasCreated, "Create whose answer was lost")
	e.Rejects(t, "adds the UID to the name", answers.AddsTheUIDToTheName, "a ConfigMap with a long name")
	e.Rejects(t, "cuts the name", answers.CutsTheName, "whose long name ends with another letter")
	e.Rejects(t, "has the name in a label", answers.HasTheNameInALabel, "a ConfigMap with a long name")
	e.Rejects(t, "remembers what it may have created", answers.RemembersWhatItMayHaveCreated, "somebody has deleted")
}
