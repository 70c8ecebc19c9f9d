package exercise_test

import (
	"context"
	"testing"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/01-listwatch/exercises/04-bookmarks"
	answers "example.com/client-go-workbook/01-listwatch/exercises/answers/04-bookmarks"
	"example.com/client-go-workbook/01-listwatch/exercises/internal/follow"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Follow,
	Accepted: []answer{answers.Follow, answers.HasOneLoop},
	Rejected: []grade.Rejected[answer]{
		{Name: "does not ask for bookmarks", Answer: answers.DoesNotAskForBookmarks, Says: "AllowWatchBookmarks"},
		{Name: "ignores the version of a bookmark", Answer: answers.IgnoresTheVersionOfABookmark, Says: "too old resource version"},
		{Name: "reports bookmarks", Answer: answers.ReportsBookmarks, Says: "BOOKMARK"},
		{Name: "asks for bookmarks once", Answer: answers.AsksForBookmarksOnce, Says: "AllowWatchBookmarks"},
		{Name: "takes versions of bookmarks only", Answer: answers.TakesVersionsOfBookmarksOnly, Says: "seen      ADDED web-a"},
		{Name: "compares versions as texts", Answer: answers.ComparesVersionsAsTexts, Says: "never compare versions as texts"},
		{Name: "prefers bookmarks", Answer: answers.PrefersBookmarks, Says: "the last event, also after a bookmark"},
		{Name: "reads 32 bits", Answer: answers.Reads32Bits, Says: "too old resource version"},
		{Name: "keeps a bookmark for all", Answer: answers.KeepsABookmarkForAll, Says: "a variable of the package"},
		{Name: "hides errors", Answer: answers.HidesErrors, Says: "when the first watch is answered with 403"},
	},
	Grade: gradeFollow,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradeFollow(t *grade.T, learners answer) {
	gradeCloses(t, learners, 0) // not in a bubble: there, an answer that never waits would show nothing
	t.Bubble(func(t *grade.T) { gradeCloses(t, learners, time.Duration(60+t.Rand.IntN(120))*time.Minute) })
	t.Bubble(func(t *grade.T) {
		follow.GradeErrors(t, learners)
		follow.GradeEnds(t, learners)
	})
}

// gradeCloses ends watches after an event that follows a bookmark, and after a bookmark, each time after a quiet time.
func gradeCloses(t *grade.T, learners answer, quiet time.Duration) {
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
		bookmark(t, run) // it is older than the event that follows
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
		bookmark(t, run)
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

// bookmark lets the server send a bookmark with the current version.
func bookmark(t *grade.T, run *follow.Run) {
	if run.Bookmark() == 0 {
		t.Reject("a watch that gets bookmarks", "a watch that has not asked for them", "AllowWatchBookmarks in metav1.ListOptions")
	}
}
