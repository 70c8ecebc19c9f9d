package listwatch

import (
	"net/http"
	"strconv"
	"time"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/follow"
)

// NoGap grades the answers to "Watch from where the list ended".
var NoGap = grade.Exercise[follow.Answer]{Grade: gradeListAndWatch}

const lookNoGap = `which version each request names: "The short request and the long one" in the chapter's README`

func gradeListAndWatch(t *grade.T, listAndWatch follow.Answer) {
	gradeEvents(t, listAndWatch, 0)
	t.Bubble(func(t *grade.T) { gradeEvents(t, listAndWatch, time.Duration(60+t.Rand.IntN(120))*time.Minute) })
	t.Bubble(func(t *grade.T) { gradeRefusals(t, listAndWatch) })
}

// gradeEvents lets nothing happen for a time when the watch has begun.
func gradeEvents(t *grade.T, listAndWatch follow.Answer, quiet time.Duration) {
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
	run.Await(lookNoGap, "MODIFIED "+names[1], "ADDED "+names[3], "DELETED "+names[0])
	run.AwaitWatch(lookNoGap)
	time.Sleep(quiet)
	run.AwaitWatch("what ends your function, though the server has not ended the watch")
	run.MoreDigits()
	run.Create(follow.Pod(names[4]))
	run.Delete(follow.Pod(names[3]))
	run.Await(lookNoGap, "ADDED "+names[4], "DELETED "+names[3])
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

// gradeRefusals lets one of the two requests fail.
func gradeRefusals(t *grade.T, listAndWatch follow.Answer) {
	for _, verb := range []string{"list", "watch"} {
		run := follow.New(t)
		run.Refuse(verb, follow.Forbidden)
		run.Start(listAndWatch)
		run.AwaitError("return the error when the "+verb+" is answered with 403", "what your code does with err")
	}
}
