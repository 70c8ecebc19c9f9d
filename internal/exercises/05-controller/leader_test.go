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
	e.Rejects(t, "releases what another holds", answers.ReleasesWhatAnotherHolds, "ben releases it, and zoe holds it")
	e.Rejects(t, "releases what has run out", answers.ReleasesWhatHasRunOut, "rita releases it, and zoe holds it")
	e.Rejects(t, "waits if it is the leader", answers.WaitsIfItIsTheLeader, "when another process has taken the Lease")
}
