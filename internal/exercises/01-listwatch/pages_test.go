package listwatch_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/01-listwatch"
	answers "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/01-pages"
	starter "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/01-pages/starter"
)

func TestPages(t *testing.T) {
	e := graders.Pages
	e.RejectsStarter(t, starter.PodNames)
	e.Accepts(t, answers.PodNames, answers.LeavesThePagesToThePager, answers.KeepsNoOrder)
	e.Rejects(t, "shadows the page", answers.ShadowsThePage, "requests 2 and 3 ask for the same page")
	e.Rejects(t, "stops at a short page with a continue", answers.StopsAtAShortPageWithAContinue, "pages have fewer")
	e.Rejects(t, "lists all after 410", answers.ListsAllAfter410, "after 410, a request without a limit")
	e.Rejects(t, "stops where no count remains", answers.StopsWhereNoCountRemains, "pages have fewer")
	e.Rejects(t, "takes the end of ctx for the last page", answers.TakesTheEndOfCtxForTheLastPage, "ctx has ended after page")
	e.Rejects(t, "detaches its requests", answers.DetachesItsRequests, "when ctx ends during a request")
}
