package informer_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/02-informer"
	answers "example.com/client-go-workbook/internal/exercises/02-informer/answers/06-same-name"
	starter "example.com/client-go-workbook/internal/exercises/02-informer/answers/06-same-name/starter"
)

func TestSameName(t *testing.T) {
	e := graders.SameName
	e.RejectsStarter(t, starter.Track)
	e.Accepts(t, answers.Track, answers.RemembersWhatIsOpen)
	e.Rejects(t, "closes at every change", answers.ClosesAtEveryChange, "after a change of its labels")
	e.Rejects(t, "compares creation timestamps", answers.ComparesCreationTimestamps, "within a second of its creation")
	e.Rejects(t, "closes when the deletion begins", answers.ClosesWhenTheDeletionBegins, "after its deletion has begun")
	e.Rejects(t, "opens without closing", answers.OpensWithoutClosing, "is still open")
	e.Rejects(t, "leaves out tombstones", answers.LeavesOutTombstones, "is still open")
	e.Rejects(t, "asks the store", answers.AsksTheStore, "DeleteFunc")
	e.Rejects(t, "remembers for all handlers", answers.RemembersForAllHandlers, "two handlers")
	e.Rejects(t, "remembers the first UID of a name", answers.RemembersTheFirstUIDOfAName, "that had replaced another one")
}
