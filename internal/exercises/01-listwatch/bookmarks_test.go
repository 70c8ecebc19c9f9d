package listwatch_test

import (
	"testing"

	graders "example.com/client-go-workbook/internal/exercises/01-listwatch"
	answers "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/04-bookmarks"
	starter "example.com/client-go-workbook/internal/exercises/01-listwatch/answers/04-bookmarks/starter"
)

func TestBookmarks(t *testing.T) {
	e := graders.Bookmarks
	e.RejectsStarter(t, starter.Follow)
	e.Accepts(t, answers.Follow, answers.HasOneLoop)
	e.Rejects(t, "does not ask for bookmarks", answers.DoesNotAskForBookmarks, "AllowWatchBookmarks")
	e.Rejects(t, "ignores the version of a bookmark", answers.IgnoresTheVersionOfABookmark, "too old resource version")
	e.Rejects(t, "reports bookmarks", answers.ReportsBookmarks, "BOOKMARK")
	e.Rejects(t, "asks for bookmarks once", answers.AsksForBookmarksOnce, "AllowWatchBookmarks")
	e.Rejects(t, "takes versions of bookmarks only", answers.TakesVersionsOfBookmarksOnly, "seen      ADDED web-a")
	e.Rejects(t, "keeps a bookmark for all", answers.KeepsABookmarkForAll, "a variable of the package")
}
