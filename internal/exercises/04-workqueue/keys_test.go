package workqueue_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
	answers "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/01-keys"
	starter "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/01-keys/starter"
)

func TestKeys(t *testing.T) {
	e := graders.Keys
	e.RejectsStarter(t, starter.Handler)
	e.Accepts(t, answers.Handler, answers.ImplementsTheInterface)
	e.Rejects(t, "leaves the namespace out of the key", answers.LeavesTheNamespaceOutOfTheKey, "cache.MetaObjectToName")
	e.Rejects(t, "asserts that a deleted object is a pod", answers.AssertsThatADeletedObjectIsAPod, "panicked: interface conversion")
	e.Rejects(t, "takes the key from the tombstone's object", answers.TakesTheKeyFromTheTombstonesObject, "Obj is nil")
	e.Rejects(t, "completes the pod", answers.CompletesThePod, "was changed: Pod web-")
	e.Rejects(t, "drops the managed fields", answers.DropsTheManagedFields, "was changed: Pod web-")
	e.Rejects(t, "adds each key once", answers.AddsEachKeyOnce, "what does the handler remember")
	e.Rejects(t, "waits for the end of a pod", answers.WaitsForTheEndOfAPod, "while it is being deleted")
}
