package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/01-owner"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/01-owner/starter"
)

func TestOwner(t *testing.T) {
	e := graders.Owner
	e.RejectsStarter(t, starter.CreateService)
	e.Accepts(t, answers.CreateService, answers.AsksFirst)
	e.Rejects(t, "takes the kind from the object", answers.TakesTheKindFromTheObject, "kind: Required value")
	e.Rejects(t, "applies when there is none", answers.AppliesWhenThereIsNone, "just before you do: it stays as it is")
	e.Rejects(t, "takes the end of the namespace for done", answers.TakesTheEndOfTheNamespaceForDone,
		"because the namespace is being deleted: CreateService returns an error")
	e.Rejects(t, "takes a busy server for done", answers.TakesABusyServerForDone,
		"answered with 429 TooManyRequests: CreateService returns an error")
	e.Rejects(t, "remembers what it has created", answers.RemembersWhatItHasCreated, "somebody has deleted the Service")
	e.Rejects(t, "overwrites by apply", answers.OverwritesByApply, "CreateService has changed it")
	e.Rejects(t, "changes the ConfigMap", answers.ChangesTheConfigMap, "an object in the store was changed: ConfigMap")
	e.Rejects(t, "changes the ConfigMap for a moment", answers.ChangesTheConfigMapForAMoment,
		"one is another while you send POST of services")
}
