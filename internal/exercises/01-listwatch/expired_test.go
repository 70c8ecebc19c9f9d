package listwatch_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/01-listwatch"
	answers "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/05-expired"
	starter "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/05-expired/starter"
)

func TestExpired(t *testing.T) {
	e := graders.Expired
	e.RejectsStarter(t, starter.Mirror)
	e.Accepts(t, answers.Mirror, answers.RunsAnInformer)
	e.Rejects(t, "asks for the same version again", answers.AsksForTheSameVersionAgain, "requests for version")
	e.Rejects(t, "lists any version after 410", answers.ListsAnyVersionAfter410, "also an older one")
	e.Rejects(t, "forgets the deletions", answers.ForgetsTheDeletions, "MODIFIED web-d")
	e.Rejects(t, "takes a failed list for an empty one", answers.TakesAFailedListForAnEmptyOne, "DELETED web-a")
}
