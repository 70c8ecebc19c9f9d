package lister_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/03-lister"
	answers "example.com/client-go-workbook/internal/exercises/03-lister/answers/05-copy"
	starter "example.com/client-go-workbook/internal/exercises/03-lister/answers/05-copy/starter"
)

func TestCopy(t *testing.T) {
	e := graders.Copy
	e.RejectsStarter(t, starter.Prepare)
	e.Accepts(t, answers.Prepare, answers.CopiesWhatItChanges)
	e.Rejects(t, "copies the labels only", answers.CopiesTheLabelsOnly, "in the store, spec.containers[0].image")
	e.Rejects(t, "makes a new pod", answers.MakesANewPod, "metadata.annotations.team is missing")
	e.Rejects(t, "makes a map in the store", answers.MakesAMapInTheStore, "an object in the store was changed")
	e.Rejects(t, "leaves a label that is there", answers.LeavesALabelThatIsThere, `labels.reviewed is "false"`)
}
