package exercise_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	},
	Grade: gradeFollow,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradeFollow(t *grade.T, learners answer) {
	run := follow.New(t)
	names := run.Names(6)
	version := run.Version()
	run.Start(func(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
		return learners(ctx, pods, version, report)
	})
	run.Create(follow.Pod(names[0]))
	run.Await("the watch's ResultChan", "ADDED "+names[0])
	for _, name := range names[1:4] {
		run.AwaitWatch("exercise 1.3")
		for range 3 + t.Rand.IntN(20) { // nothing that a watch of pods shows
			run.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "other-"}})
		}
		if run.Bookmark() == 0 {
			t.Reject("a watch that gets bookmarks", "a watch that has not asked for them", "AllowWatchBookmarks in metav1.ListOptions")
		}
		release := run.Hold()
		run.CloseWatches()
		run.Compact()
		run.Create(follow.Pod(name))
		release()
		run.Await("what your code does with an event of type BOOKMARK", "ADDED "+name)
	}
	run.AwaitWatch("exercise 1.3")
	run.Update(run.Changed(names[0]))
	run.Delete(follow.Pod(names[1]))
	run.Await("exercise 1.3", "MODIFIED "+names[0], "DELETED "+names[1])
	run.End("ctx.Err(): when ctx ends, a request fails, or the watch sends an ERROR")
}
