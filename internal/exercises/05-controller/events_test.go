package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/07-events"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/07-events/starter"
)

func TestEvents(t *testing.T) {
	e := graders.Events
	e.RejectsStarter(t, starter.NewSync)
	e.Accepts(t, answers.NewSync, answers.HasATypeWithAMethod)
	e.Rejects(t, "has one memory for all", answers.HasOneMemoryForAll, "the same mistake in another ConfigMap")
	e.Rejects(t, "has one memory for a name", answers.HasOneMemoryForAName, "the same mistake in another namespace")
	e.Rejects(t, "drops the managed fields", answers.DropsTheManagedFields, "was changed: ConfigMap orders")
	e.Rejects(t, "remembers all messages", answers.RemembersAllMessages, "the first mistake again, after another one")
	e.Rejects(t, "remembers in a package variable", answers.RemembersInAPackageVariable, "of a second NewSync")
	e.Rejects(t, "does not say the mistake", answers.DoesNotSayTheMistake, "the message of the Event has the error's text")
	e.Rejects(t, "takes the text for a format", answers.TakesTheTextForAFormat, "which argument is the format?")
}
