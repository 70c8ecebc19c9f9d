package listwatch

import (
	"time"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/follow"
)

// Bookmarks grades the answers to "Use bookmarks".
var Bookmarks = grade.Exercise[follow.From]{Grade: gradeBookmarks}

func gradeBookmarks(t *grade.T, learners follow.From) {
	gradeClosesAfterBookmark(t, learners, 0) // not in a bubble: there, an answer that never waits would show nothing
	t.Bubble(func(t *grade.T) {
		gradeClosesAfterBookmark(t, learners, time.Duration(60+t.Rand.IntN(120))*time.Minute)
	})
	t.Bubble(func(t *grade.T) {
		follow.GradeErrors(t, learners)
		follow.GradeEnds(t, learners)
	})
}

// gradeClosesAfterBookmark ends watches after an event that follows a bookmark, and after a bookmark, each time after a quiet time.
func gradeClosesAfterBookmark(t *grade.T, learners follow.From, quiet time.Duration) {
	run := follow.New(t)
	names := run.Names(6)
	run.Create(follow.Pod("listed"))
	run.StartFrom(learners)
	for round := range 2 {
		last, next, missed := names[3*round], names[3*round+1], names[3*round+2]
		run.AwaitWatch("exercise 1.3")
		time.Sleep(quiet)
		run.MoreDigits()
		run.Other()
		sendBookmark(t, run) // it is older than the event that follows
		run.MoreDigits()
		run.Create(follow.Pod(last))
		run.Await("the watch's ResultChan", "ADDED "+last)
		release := run.Hold()
		run.CloseWatches() // without another bookmark
		run.Adjacent()
		run.Create(follow.Pod(next))
		release()
		run.Await("the version of the last event, also after a bookmark: never compare versions as texts", "ADDED "+next)

		run.AwaitWatch("exercise 1.3")
		time.Sleep(quiet)
		run.MoreDigits()
		for range 3 + t.Rand.IntN(20) {
			run.Other()
		}
		sendBookmark(t, run)
		release = run.Hold()
		run.CloseWatches()
		run.Compact()
		run.Adjacent()
		run.Create(follow.Pod(missed))
		release()
		run.Await("what your code does with a BOOKMARK's version: never compare versions as texts", "ADDED "+missed)
	}
	run.AwaitWatch("exercise 1.3")
	run.Update(run.Changed(names[0]))
	run.Delete(follow.Pod(names[1]))
	run.Await("exercise 1.3", "MODIFIED "+names[0], "DELETED "+names[1])
	run.End(follow.LookEnd)
}

// sendBookmark lets the server send a bookmark with the current version.
func sendBookmark(t *grade.T, run *follow.Run) {
	if run.Bookmark() == 0 {
		t.Reject("a watch that gets bookmarks", "a watch that has not asked for them", "AllowWatchBookmarks in metav1.ListOptions")
	}
}
