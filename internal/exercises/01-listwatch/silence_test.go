package listwatch_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/01-listwatch"
	answers "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/07-silence"
	starter "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/07-silence/starter"
)

func TestSilence(t *testing.T) {
	e := graders.Silence
	e.RejectsStarter(t, starter.NewPods)
	e.Accepts(t, answers.NewPods, answers.BuildsATransportOfItsOwn)
	e.Rejects(t, "sets the timeout of the client", answers.SetsTheTimeoutOfTheClient, "although the connection works")
	e.Rejects(t, "gives reads a deadline", answers.GivesReadsADeadline, "although the connection works")
	e.Rejects(t, "leaves the answer 15 seconds", answers.LeavesTheAnswer15Seconds, "pings without end")
	e.Rejects(t, "has a client of its own", answers.HasAClientOfItsOwn, "HTTPWrappersForConfig")
}
