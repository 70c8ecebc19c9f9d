package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/02-not-yours"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/02-not-yours/starter"
)

func TestNotYours(t *testing.T) {
	e := graders.NotYours
	e.RejectsStarter(t, starter.SetPort)
	e.Accepts(t, answers.SetPort, answers.FindsTheOwnerItself)
	e.Rejects(t, "decides by the Service's name", answers.DecidesByTheServicesName, "no write")
	e.Rejects(t, "decides by the owner's name", answers.DecidesByTheOwnersName, "an earlier ConfigMap")
	e.Rejects(t, "says nothing", answers.SaysNothing, "it returns: <nil>")
	e.Rejects(t, "adopts", answers.Adopts, "no write: this is a Service that")
	e.Rejects(t, "changes the store's object for a moment", answers.ChangesTheStoresObjectForAMoment,
		"one is another while you send PUT of services")
	e.Rejects(t, "looks at the first owner", answers.LooksAtTheFirstOwner, "controls, and others own")
	e.Rejects(t, "decides by the store and writes to the server's", answers.DecidesByTheStoreAndWritesToTheServers,
		"the server's has got another controller")
	e.Rejects(t, "patches whatever has the UID", answers.PatchesWhateverHasTheUID, "the server's has got another controller")
	e.Rejects(t, "decides by the server and patches", answers.DecidesByTheServerAndPatches,
		"just before your write, the Service has got another controller")
	e.Rejects(t, "ignores the error of Update", answers.IgnoresTheErrorOfUpdate, "500 InternalError: SetPort returns an error")
}
