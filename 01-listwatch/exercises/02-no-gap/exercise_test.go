package exercise_test

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/01-listwatch/exercises/02-no-gap"
	answers "example.com/client-go-workbook/01-listwatch/exercises/answers/02-no-gap"
	"example.com/client-go-workbook/01-listwatch/exercises/internal/follow"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.ListAndWatch,
	Accepted: []answer{answers.ListAndWatch, answers.ListsInPages},
	Rejected: []grade.Rejected[answer]{
		{Name: "watches from no version", Answer: answers.WatchesFromNoVersion, Says: "seen      ADDED web-"},
		{Name: "watches from version zero", Answer: answers.WatchesFromVersionZero, Says: "seen      ADDED web-"},
		{Name: "watches from the version of the last pod", Answer: answers.WatchesFromTheVersionOfTheLastPod,
			Says: "seen      MODIFIED web-a"},
		{Name: "watches from the newest version of a pod", Answer: answers.WatchesFromTheNewestVersionOfAPod,
			Says: "seen      ADDED gone"},
		{Name: "watches before the list", Answer: answers.WatchesBeforeTheList, Says: "seen      ADDED web-"},
		{Name: "watches from the next version", Answer: answers.WatchesFromTheNextVersion, Says: "seen      ADDED web-d"},
		{Name: "leaves out names of the list", Answer: answers.LeavesOutNamesOfTheList, Says: "which events your code leaves out"},
		{Name: "returns before the last report", Answer: answers.ReturnsBeforeTheLastReport, Says: "before your function returns"},
		{Name: "gives up in silence", Answer: answers.GivesUpInSilence, Says: "your function returned nil"},
		{Name: "hides the error of the watch", Answer: answers.HidesTheErrorOfTheWatch, Says: "when the watch is answered with 403"},
		{Name: "compares versions as texts", Answer: answers.ComparesVersionsAsTexts, Says: "ADDED web-e"},
	},
	Grade: gradeListAndWatch,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

const look = `which version each request names: "The short request and the long one" in the chapter's README`

func gradeListAndWatch(t *grade.T, listAndWatch answer) {
	gradeEvents(t, listAndWatch, 0)
	t.Bubble(func(t *grade.T) { gradeEvents(t, listAndWatch, time.Duration(60+t.Rand.IntN(120))*time.Minute) })
	t.Bubble(func(t *grade.T) { gradeErrors(t, listAndWatch) })
}

// gradeEvents lets nothing happen for a time when the watch has begun.
func gradeEvents(t *grade.T, listAndWatch answer, quiet time.Duration) {
	run := follow.New(t)
	run.MaxLimit = 2
	names := run.Names(5)
	var listed []string
	for _, name := range names[:3] {
		run.Create(follow.Pod(name))
		listed = append(listed, "LISTED "+name)
	}
	run.Update(run.Changed(names[0])) // so the last pod of the list does not have the newest version
	run.Create(follow.Pod("gone"))
	run.Delete(follow.Pod("gone")) // so no pod has it

	// Between the list's last page and the watch, one pod changes, one comes, one goes.
	gap := false
	run.AfterRequest(func(request *http.Request) {
		query := request.URL.Query()
		limit, _ := strconv.Atoi(query.Get("limit")) // 0: there is none
		// A list in pages is complete after the last one.
		if !gap && query.Get("watch") == "" && (limit == 0 || limit*len(run.Requests("list")) >= len(listed)) {
			gap = true
			run.Adjacent()
			run.Update(run.Changed(names[1]))
			run.Create(follow.Pod(names[3]))
			run.Delete(follow.Pod(names[0]))
		}
	})
	run.Start(listAndWatch)
	run.Await(`"The core" in the chapter's README`, listed...)
	run.Await(look, "MODIFIED "+names[1], "ADDED "+names[3], "DELETED "+names[0])
	run.AwaitWatch(look)
	time.Sleep(quiet)
	run.AwaitWatch("what ends your function, though the server has not ended the watch")
	run.MoreDigits()
	run.Create(follow.Pod(names[4]))
	run.Delete(follow.Pod(names[3]))
	run.Await(look, "ADDED "+names[4], "DELETED "+names[3])
	run.Create(follow.Pod(names[0])) // a pod of the list, which was deleted, comes again
	run.Delete(follow.Pod(names[4])) // so it shows at once if that is missing
	run.Await("which events your code leaves out, by their type or name", "ADDED "+names[0], "DELETED "+names[4])

	run.ReportsTake(min(quiet, time.Second)) // events wait for one that is reported
	run.Update(run.Changed(names[1]))
	run.Delete(follow.Pod(names[1]))
	run.Create(follow.Pod(names[3]))
	run.CloseWatches()
	run.AwaitReturn("return when the server has ended the watch",
		"what a loop over a channel does when it is closed, and whether another goroutine still reports",
		"MODIFIED "+names[1], "DELETED "+names[1], "ADDED "+names[3])
}

// gradeErrors lets one of the two requests fail.
func gradeErrors(t *grade.T, listAndWatch answer) {
	for _, verb := range []string{"list", "watch"} {
		run := follow.New(t)
		run.Refuse(verb, follow.Forbidden)
		run.Start(listAndWatch)
		run.AwaitError("return the error when the "+verb+" is answered with 403", "what your code does with err")
	}
}
