package listwatch_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/01-listwatch"
	answers "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/06-streaming"
	starter "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/06-streaming/starter"
)

func TestStreaming(t *testing.T) {
	e := graders.Streaming
	e.RejectsStarter(t, starter.PodNames)
	e.Accepts(t, answers.PodNames, answers.LooksAtTheObjects)
	e.Rejects(t, "sends a List", answers.SendsAList, "a List")
	e.Rejects(t, "takes silence for the end", answers.TakesSilenceForTheEnd, "names")
	e.Rejects(t, "limits the time", answers.LimitsTheTime, "after 30m0s, the error")
	e.Rejects(t, "returns the version of a pod", answers.ReturnsTheVersionOfAPod, "version")
	e.Rejects(t, "leaves the watch open", answers.LeavesTheWatchOpen, "still open")
	e.Rejects(t, "opens the next watch", answers.OpensTheNextWatch, "the loop around Watch")
	e.Rejects(t, "goes by the last bookmark", answers.GoesByTheLastBookmark, "in the middle of the list")
}
