package exercise_test

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/01-listwatch/exercises/03-closed"
	answers "example.com/client-go-workbook/01-listwatch/exercises/answers/03-closed"
	"example.com/client-go-workbook/01-listwatch/exercises/internal/follow"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Follow,
	Accepted: []answer{answers.Follow, answers.UsesARetryWatcher},
	Rejected: []grade.Rejected[answer]{
		{Name: "ends with the first watch", Answer: answers.EndsWithTheFirstWatch, Says: "returned the error: the watch was closed"},
		{Name: "spins on the closed channel", Answer: answers.SpinsOnTheClosedChannel, Says: "seen      none"},
		{Name: "begins again each time", Answer: answers.BeginsAgainEachTime, Says: "seen      ADDED web-a"},
		{Name: "lists again and misses the gap", Answer: answers.ListsAgainAndMissesTheGap, Says: "seen      ADDED web-c"},
		{Name: "takes no version of a deletion", Answer: answers.TakesNoVersionOfADeletion, Says: "seen      DELETED web-"},
		{Name: "takes an error for the end", Answer: answers.TakesAnErrorForTheEnd, Says: "when the first watch is answered with 403"},
		{Name: "leaves out smaller texts", Answer: answers.LeavesOutSmallerTexts, Says: "and no comparison"},
		{Name: "opens 100 watches", Answer: answers.Opens100Watches, Says: "which return your function comes to"},
		{Name: "returns before the last report", Answer: answers.ReturnsBeforeTheLastReport, Says: "who waits for it"},
		{Name: "asks again after each error", Answer: answers.AsksAgainAfterEachError, Says: "again and again"},
	},
	Timeout: 10 * time.Second, // an answer that never opens the next watch shows nothing but silence
	Grade:   gradeFollow,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

const look = `which version the next watch needs, and no comparison: "The watch ends" in the chapter's README`

func gradeFollow(t *grade.T, learners answer) {
	gradeCloses(t, learners, 0, watch.Added) // not in a bubble: there, an answer that never waits would show nothing
	t.Bubble(func(t *grade.T) {
		last := []watch.EventType{watch.Added, watch.Modified, watch.Deleted}
		t.Rand.Shuffle(len(last), func(i, j int) { last[i], last[j] = last[j], last[i] })
		gradeCloses(t, learners, time.Duration(60+t.Rand.IntN(120))*time.Minute, last...)
	})
	t.Bubble(func(t *grade.T) {
		follow.GradeErrors(t, learners)
		follow.GradeEnds(t, learners)
	})
}

// gradeCloses ends a watch after each of these events, each time after a quiet time.
func gradeCloses(t *grade.T, learners answer, quiet time.Duration, lastEvents ...watch.EventType) {
	run := follow.New(t)
	names := run.Names(3 * len(lastEvents))
	run.Create(follow.Pod("listed"))
	run.StartFrom(learners)
	for i, last := range lastEvents {
		seen, missed, next := names[3*i], names[3*i+1], names[3*i+2]
		run.AwaitWatch("the watch's ResultChan")
		time.Sleep(quiet)
		run.Create(follow.Pod(seen))
		events := []string{"ADDED " + seen}
		if last != watch.Added {
			run.Update(run.Changed(seen))
			events = append(events, "MODIFIED "+seen)
		}
		if last == watch.Deleted {
			run.Delete(follow.Pod(seen))
			events = append(events, "DELETED "+seen)
		}
		run.Await("the watch's ResultChan", events...)

		release := run.Hold()
		run.CloseWatches()
		run.Adjacent()
		run.Create(follow.Pod(missed))
		run.MoreDigits()
		run.Update(run.Changed(missed))
		run.Delete(follow.Pod(missed))
		release()
		run.AwaitWatch("the watch's ResultChan: what a read from a closed channel returns")
		run.MoreDigits()
		run.Create(follow.Pod(next)) // shows at once what is missing before it
		run.Await(look, "ADDED "+missed, "MODIFIED "+missed, "DELETED "+missed, "ADDED "+next)
	}
	run.End(follow.LookEnd)
}
