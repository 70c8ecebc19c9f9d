package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/12-named-secret"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/12-named-secret/starter"
)

func TestNamedSecret(t *testing.T) {
	e := graders.NamedSecret
	e.RejectsStarter(t, starter.Watch)
	e.Accepts(t, answers.Watch, answers.WatchesWithoutTypes)
	e.Rejects(t, "reads all", answers.ReadsAll, "from the informer's store")
	e.Rejects(t, "reads its namespace", answers.ReadsItsNamespace, "from the informer's store")
	e.Rejects(t, "forgets the namespace", answers.ForgetsTheNamespace, "also with namespace-")
	e.Rejects(t, "joins with a dash", answers.JoinsWithADash, "also with shop-a/one")
	e.Rejects(t, "compares the data", answers.ComparesTheData, "a change of the labels")
	e.Rejects(t, "needs the object", answers.NeedsTheObject, "which the informer has missed")
	e.Rejects(t, "knows the first name", answers.KnowsTheFirstName, "names now")
	e.Rejects(t, "takes the Secret's name", answers.TakesTheSecretsName, "a first list of Secrets")
}
