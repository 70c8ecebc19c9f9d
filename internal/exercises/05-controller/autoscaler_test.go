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
	e.Accepts(t, answers.ApplyDeployment, answers.HasTwoManagers, answers.UpdatesWhatItMeans)
	e.Rejects(t, "sends the number that is there", answers.SendsTheNumberThatIsThere, "its next apply, of 61, has no conflict")
	e.Rejects(t, "sets the number again", answers.SetsTheNumberAgain, "for a moment it is 1")
	e.Rejects(t, "hands over with force", answers.HandsOverWithForce, "and nothing else")
	e.Rejects(t, "remembers in memory", answers.RemembersInMemory, "when an earlier process has applied")
	e.Rejects(t, "never takes it back", answers.NeverTakesItBack, "again, when others have set another number: replicas is ")
	e.Rejects(t, "is another manager without force", answers.IsAnotherManagerWithoutForce, `conflict with "workbook"`)
	e.Rejects(t, "creates it anew", answers.CreatesItAnew, "deleted, and created again")
	e.Rejects(t, "hands over each time", answers.HandsOverEachTime, "its next apply, of 61, has no conflict")
	e.Rejects(t, "replaces the Deployment", answers.ReplacesTheDeployment, "an annotation that others have set stays")
	e.Rejects(t, "remembers the handover", answers.RemembersTheHandover, "after another process of yours has applied")
	e.Rejects(t, "takes zero for nil", answers.TakesZeroForNil, "called with 0: replicas is 0")
	e.Rejects(t, "forces the second try", answers.ForcesTheSecondTry, "while others set the number: replicas is ")
}
