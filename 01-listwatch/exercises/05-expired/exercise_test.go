package exercise_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/01-listwatch/exercises/05-expired"
	answers "example.com/client-go-workbook/01-listwatch/exercises/answers/05-expired"
	"example.com/client-go-workbook/01-listwatch/exercises/internal/follow"
	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Mirror,
	Accepted: []answer{answers.Mirror, answers.RunsAnInformer},
	Rejected: []grade.Rejected[answer]{
		{Name: "asks for the same version again", Answer: answers.AsksForTheSameVersionAgain, Says: "requests for version"},
		{Name: "looks for Gone only", Answer: answers.LooksForGoneOnly, Says: "its reason is Expired"},
		{Name: "compares the names", Answer: answers.ComparesTheNames, Says: "MODIFIED web-d"},
		{Name: "forgets the deletions", Answer: answers.ForgetsTheDeletions, Says: "MODIFIED web-d"},
		{Name: "forgets what the watch brought", Answer: answers.ForgetsWhatTheWatchBrought, Says: "DELETED web-f"},
		{Name: "reports all again", Answer: answers.ReportsAllAgain, Says: "seen      ADDED web-a"},
	},
	Grade: gradeMirror,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

const (
	lookCore    = `"The core" in the chapter's README`
	lookExpired = `"410 Gone: the version has expired" in the chapter's README`
)

func gradeMirror(t *grade.T, mirror answer) {
	run := follow.New(t)
	names := run.Names(9)
	kept, deleted, changed, recreated, brought, gone, added := names[0], names[1], names[2], names[3], names[4], names[5], names[6]
	for _, name := range []string{kept, deleted, changed, recreated, gone} {
		run.Create(follow.Pod(name))
	}
	run.Check = func() {
		watches := run.Requests("watch")
		if len(watches) == 0 {
			return
		}
		last := watches[len(watches)-1].Query.Get("resourceVersion")
		same := slices.DeleteFunc(watches, func(r fakeserver.Request) bool { return r.Query.Get("resourceVersion") != last })
		if len(same) > 20 {
			t.Reject("a new list, because the version has expired",
				fmt.Sprintf("%d requests for version %s, which has expired", len(same), last), lookExpired)
		}
	}

	run.Start(mirror)
	run.AwaitAll(lookCore, "ADDED "+kept, "ADDED "+deleted, "ADDED "+changed, "ADDED "+recreated, "ADDED "+gone)
	run.AwaitWatch(lookCore)
	run.Create(follow.Pod(brought))
	run.Delete(follow.Pod(gone))
	run.Await(lookCore, "ADDED "+brought, "DELETED "+gone)

	release := run.Hold()
	run.CloseWatches()
	run.Delete(follow.Pod(deleted))
	run.Update(run.Changed(changed))
	run.Delete(follow.Pod(recreated))
	run.Create(follow.Pod(recreated))
	run.Create(follow.Pod(added))
	run.Create(follow.Pod(names[7])) // comes and goes: nobody can know
	run.Delete(follow.Pod(names[7]))
	run.Compact()
	release()
	got := run.AwaitAll(lookExpired, "DELETED "+deleted, "MODIFIED "+changed, "DELETED "+recreated, "ADDED "+recreated, "ADDED "+added)
	if slices.Index(got, "DELETED "+recreated) > slices.Index(got, "ADDED "+recreated) {
		t.Reject("DELETED "+recreated+" before ADDED "+recreated, "the other order", "the order of your comparisons")
	}
	run.AwaitWatch(lookExpired)

	release = run.Hold()
	run.CloseWatches()
	run.Create(follow.Pod(names[7]))
	run.Delete(follow.Pod(names[7]))
	run.Compact()
	release()
	run.AwaitWatch(lookExpired)
	run.Update(run.Changed(kept))
	run.Await("what you report if the new list is like the one before", "MODIFIED "+kept)
	run.End("ctx.Err(): when ctx ends, a request fails, or the watch sends an ERROR")
}
