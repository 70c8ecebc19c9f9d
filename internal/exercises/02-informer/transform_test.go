package informer_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/02-informer"
	answers "example.com/client-go-workbook/internal/exercises/02-informer/answers/07-transform"
	starter "example.com/client-go-workbook/internal/exercises/02-informer/answers/07-transform/starter"
)

func TestTransform(t *testing.T) {
	e := graders.Transform
	e.RejectsStarter(t, starter.Shrink)
	e.Accepts(t, answers.Shrink, answers.ReturnsANewObject)
	e.Rejects(t, "trusts the annotation", answers.TrustsTheAnnotation, "it still has the data")
	e.Rejects(t, "asserts a Secret", answers.AssertsASecret, "*v1.ConfigMap, not *v1.Secret (mistakes.go:")
	e.Rejects(t, "takes 64 characters for its own", answers.Takes64CharactersForItsOwn, "it still has the data")
	e.Rejects(t, "removes managedFields", answers.RemovesManagedFields, "its metadata.managedFields is different")
	e.Rejects(t, "marks Secrets without data", answers.MarksSecretsWithoutData, "its metadata.annotations is different")
	e.Rejects(t, "remembers the checksum", answers.RemembersTheChecksum, "after its data were removed")
}
