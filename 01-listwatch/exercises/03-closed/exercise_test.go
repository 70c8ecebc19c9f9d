package exercise_test

import (
	"context"
	"testing"
	"time"

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
		{Name: "lists again and misses the gap", Answer: answers.ListsAgainAndMissesTheGap, Says: "seen      ADDED web-d"},
	},
	Timeout: 10 * time.Second, // an answer that never opens the next watch shows nothing but silence
	Grade:   gradeFollow,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

const look = `which version the next watch needs: "The watch ends" in the chapter's README`

func gradeFollow(t *grade.T, learners answer) {
	run := follow.New(t)
	names := run.Names(6)
	run.Create(follow.Pod("listed"))
	version := run.Version()
	run.Start(func(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
		return learners(ctx, pods, version, report)
	})
	run.Create(follow.Pod(names[0]))
	run.Await("the watch's ResultChan", "ADDED "+names[0])
	for i, name := range names[1:3] {
		release := run.Hold()
		run.CloseWatches()
		run.Create(follow.Pod(name))
		run.Update(run.Changed(names[i]))
		run.Delete(follow.Pod(names[i]))
		release()
		run.AwaitWatch("the watch's ResultChan: what a read from a closed channel returns")
		run.Create(follow.Pod(names[3+i])) // shows at once what is missing before it
		run.Await(look, "ADDED "+name, "MODIFIED "+names[i], "DELETED "+names[i], "ADDED "+names[3+i])
	}
	run.End("ctx.Err(): when ctx ends, a request fails, or the watch sends an ERROR")
}
