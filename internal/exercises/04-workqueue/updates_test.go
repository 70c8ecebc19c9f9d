package workqueue_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/04-workqueue"
	answers "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/05-updates"
	starter "example.com/client-go-workbook/internal/exercises/04-workqueue/answers/05-updates/starter"
)

func TestUpdates(t *testing.T) {
	e := graders.Updates
	e.RejectsStarter(t, starter.Run)
	e.Accepts(t, answers.Run, answers.NeedsNoWorkQueue)
	e.Rejects(t, "leaves out what comes too early", answers.LeavesOutWhatComesTooEarly, "version")
	e.Rejects(t, "starts a goroutine for each event", answers.StartsAGoroutineForEachEvent, "at the same time")
	e.Rejects(t, "leaves the worker behind", answers.LeavesTheWorkerBehind, "a goroutine still runs")
	e.Rejects(t, "remembers the saves of another Run", answers.RemembersTheSavesOfAnotherRun, "a variable of the package")
	e.Rejects(t, "saves the newest event", answers.SavesTheNewestEvent, "a save of it began")
	e.Rejects(t, "leaves out a name that was deleted", answers.LeavesOutANameThatWasDeleted, "created again")
	e.Rejects(t, "does not know tombstones", answers.DoesNotKnowTombstones, "not by the watch")
	e.Rejects(t, "remembers each pod for ever", answers.RemembersEachPodForEver, "a pod that is gone is forgotten")
	e.Rejects(t, "leaves out a pod that is being deleted", answers.LeavesOutAPodThatIsBeingDeleted, "still exists")
}
