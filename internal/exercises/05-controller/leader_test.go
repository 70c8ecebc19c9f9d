package controller_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/05-controller"
	answers "example.com/client-go-workbook/internal/exercises/05-controller/answers/10-leader"
	starter "example.com/client-go-workbook/internal/exercises/05-controller/answers/10-leader/starter"
)

func TestLeader(t *testing.T) {
	e := graders.Leader
	e.RejectsStarter(t, starter.Lead)
	e.Accepts(t, answers.Lead, answers.HoldsTheLockBack)
	e.Rejects(t, "exits", answers.Exits, "the program has ended by itself")
	e.Rejects(t, "forgets a late start", answers.ForgetsALateStart, "ends while the Lease is being acquired")
	e.Rejects(t, "never releases", answers.NeverReleases, "soon after the first has ended")
	e.Rejects(t, "gives work the caller's context", answers.GivesWorkTheCallersContext, "when the Lease cannot be renewed")
	e.Rejects(t, "lets the Lease run out", answers.LetsTheLeaseRunOut, "works while")
	e.Rejects(t, "releases what it has lost", answers.ReleasesWhatItHasLost, "released while")
	e.Rejects(t, "releases without asking", answers.ReleasesWithoutAsking, "carl releases it, and anna holds it")
	e.Rejects(t, "releases what another holds", answers.ReleasesWhatAnotherHolds, "ben releases it, and zoe holds it")
	e.Rejects(t, "releases what has run out", answers.ReleasesWhatHasRunOut, "rita releases it, and zoe holds it")
	e.Rejects(t, "releases with an ended context", answers.ReleasesWithAnEndedContext, "soon after the first has ended")
	e.Rejects(t, "waits for an answer for ever", answers.WaitsForAnAnswerForEver, "and the server answers nothing")
	e.Rejects(t, "sleeps in place of waiting", answers.SleepsInPlaceOfWaiting, "a request still runs")
	e.Rejects(t, "waits if it is the leader", answers.WaitsIfItIsTheLeader, "when another process has taken the Lease")
}
