package lister_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
	answers "example.com/client-go-workbook/internal/exercises/03-lister/answers/08-metadata"
	starter "example.com/client-go-workbook/internal/exercises/03-lister/answers/08-metadata/starter"
)

func TestMetadata(t *testing.T) {
	e := graders.Metadata
	e.RejectsStarter(t, starter.CountByOwner)
	e.Accepts(t, answers.CountByOwner, answers.CountsAtEachEvent)
	e.Rejects(t, "removes the spec after it was sent", answers.RemovesTheSpecAfterItWasSent, "asks for whole pods")
	e.Rejects(t, "takes metadata for a pod", answers.TakesMetadataForAPod, "PartialObjectMetadata, not *v1.Pod")
	e.Rejects(t, "counts for every owner", answers.CountsForEveryOwner, "the controller of none")
	e.Rejects(t, "sends a request for each question", answers.SendsARequestForEachQuestion, "requests more")
	e.Rejects(t, "misses a deletion that it was not told", answers.MissesADeletionThatItWasNotTold, "while the connection was broken")
	e.Rejects(t, "does not wait when ctx has ended", answers.DoesNotWaitWhenCtxHasEnded, "also with an error")
}
