package informer_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/02-informer"
	answers "example.com/client-go-workbook/internal/exercises/02-informer/answers/05-three-updates"
	starter "example.com/client-go-workbook/internal/exercises/02-informer/answers/05-three-updates/starter"
)

func TestThreeUpdates(t *testing.T) {
	e := graders.ThreeUpdates
	e.RejectsStarter(t, starter.PrintUpdates)
	e.Accepts(t, answers.PrintUpdates, answers.ImplementsTheInterface)
	e.Rejects(t, "compares versions only", answers.ComparesVersionsOnly, "seen      changed shop-0/web-0, resync")
	e.Rejects(t, "compares versions as texts", answers.ComparesVersionsAsTexts, "one digit more")
	e.Rejects(t, "compares the informer's last version", answers.ComparesTheInformersLastVersion, "seen      relisted shop")
	e.Rejects(t, "compares labels and status", answers.ComparesLabelsAndStatus, "seen      relisted")
	e.Rejects(t, "leaves out who has written", answers.LeavesOutWhoHasWritten, "a change of its managedFields")
	e.Rejects(t, "compares with the store", answers.ComparesWithTheStore, "before the handler was called")
	e.Rejects(t, "remembers the version for all handlers", answers.RemembersTheVersionForAllHandlers, "two handlers")
}
