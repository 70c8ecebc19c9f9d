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
	e.Rejects(t, "does not set controller", answers.DoesNotSetController, "controller is not set")
	e.Rejects(t, "sets a label instead", answers.SetsALabelInstead, "no owner reference")
	e.Rejects(t, "fails when called again", answers.FailsWhenCalledAgain, "already exists")
	e.Rejects(t, "applies when there is none", answers.AppliesWhenThereIsNone, "just before you do: it stays as it is")
	e.Rejects(t, "hides other errors", answers.HidesOtherErrors, "500 InternalError: CreateService returns an error")
	e.Rejects(t, "takes any error for a Service that is there", answers.TakesAnyErrorForAServiceThatIsThere,
		"returns an error, or nil when the Service is there")
	e.Rejects(t, "takes the end of the namespace for done", answers.TakesTheEndOfTheNamespaceForDone,
		"because the namespace is being deleted: CreateService returns an error")
	e.Rejects(t, "takes a busy server for done", answers.TakesABusyServerForDone,
		"answered with 429 TooManyRequests: CreateService returns an error")
	e.Rejects(t, "remembers what it has created", answers.RemembersWhatItHasCreated, "somebody has deleted the Service")
	e.Rejects(t, "overwrites by apply", answers.OverwritesByApply, "CreateService has changed it")
	e.Rejects(t, "changes the ConfigMap", answers.ChangesTheConfigMap, "an object in the store was changed: ConfigMap")
	e.Rejects(t, "changes the ConfigMap for a moment", answers.ChangesTheConfigMapForAMoment,
		"one is another while you send POST of services")
	e.Rejects(t, "has a context of its own", answers.HasAContextOfItsOwn, "each request has the ctx")
}
