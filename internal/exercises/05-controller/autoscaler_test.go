package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/11-autoscaler"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/11-autoscaler/starter"
)

func TestAutoscaler(t *testing.T) {
	e := graders.Autoscaler
	e.RejectsStarter(t, starter.ApplyDeployment)
	e.Accepts(t, answers.ApplyDeployment, answers.HandsOverEachTime, answers.HasTwoManagers, answers.UpdatesWhatItMeans)
	e.Rejects(t, "sends the number that is there", answers.SendsTheNumberThatIsThere, "while others set the number: replicas is ")
	e.Rejects(t, "sets the number again", answers.SetsTheNumberAgain, "for a moment it is 1")
	e.Rejects(t, "updates the scale", answers.UpdatesTheScale, "it is 1")
	e.Rejects(t, "hands over with force", answers.HandsOverWithForce, "while others set the number: replicas is ")
	e.Rejects(t, "remembers in memory", answers.RemembersInMemory, "when an earlier process has applied")
	e.Rejects(t, "never takes it back", answers.NeverTakesItBack, "again, when others have set another number: replicas is ")
	e.Rejects(t, "is another manager without force", answers.IsAnotherManagerWithoutForce, `conflict with "workbook"`)
	e.Rejects(t, "creates it anew", answers.CreatesItAnew, "deleted, and created again")
	e.Rejects(t, "ignores the error of the handover", answers.IgnoresTheErrorOfTheHandover, "it returns nil")
}
