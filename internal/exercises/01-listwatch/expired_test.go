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
	e.Rejects(t, "looks for Gone only", answers.LooksForGoneOnly, "its reason is Expired")
	e.Rejects(t, "compares the names", answers.ComparesTheNames, "MODIFIED web-d")
	e.Rejects(t, "forgets the deletions", answers.ForgetsTheDeletions, "MODIFIED web-d")
	e.Rejects(t, "forgets what the watch brought", answers.ForgetsWhatTheWatchBrought, "DELETED web-f")
	e.Rejects(t, "reports all again", answers.ReportsAllAgain, "seen      ADDED web-a")
	e.Rejects(t, "forgets changes of the watch", answers.ForgetsChangesOfTheWatch, "MODIFIED web-a")
	e.Rejects(t, "takes a failed list for an empty one", answers.TakesAFailedListForAnEmptyOne, "DELETED web-a")
	e.Rejects(t, "looks for greater texts", answers.LooksForGreaterTexts, "MODIFIED web-c")
	e.Rejects(t, "keeps the pods of bookmarks", answers.KeepsThePodsOfBookmarks, "DELETED ")
	e.Rejects(t, "lists one page", answers.ListsOnePage, "seen      ADDED web-a")
	e.Rejects(t, "lists again after 403", answers.ListsAgainAfter403, "again and again")
}
