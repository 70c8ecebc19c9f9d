package listwatch

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/follow"
)

// Expired grades the answers to "List again after 410".
var Expired = grade.Exercise[follow.Answer]{Grade: gradeMirror}

const (
	lookCore    = `"The core" in the chapter's README`
	lookExpired = `"410 Gone: the version has expired" in the chapter's README`
)

func gradeMirror(t *grade.T, mirror follow.Answer) {
	gradeChanges(t, mirror) // not in a bubble: there, an answer that never waits would show nothing
	t.Bubble(func(t *grade.T) {
		gradeChanges(t, mirror)
		gradeQuietTime(t, mirror)
		gradeFailures(t, mirror)
		gradeEnds(t, mirror)
	})
}

// startWithoutStreaming starts a server that knows no streaming lists, so each answer sends a List.
func startWithoutStreaming(t *grade.T) *follow.Run {
	run := follow.New(t)
	run.MaxLimit = 2
	run.Refuse("stream", follow.NotSupported)
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
	return run
}

// gradeChanges lets a version expire while pods change, and once more while they do not.
func gradeChanges(t *grade.T, mirror follow.Answer) {
	run := startWithoutStreaming(t)
	names := run.Names(9)
	kept, deleted, changed, recreated, brought, gone, added := names[0], names[1], names[2], names[3], names[4], names[5], names[6]
	later := names[8]
	for _, name := range []string{kept, deleted, changed, recreated, gone} {
		run.Create(follow.Pod(name))
	}
	run.Start(mirror)
	run.AwaitWatch(lookCore)
	run.Create(follow.Pod(brought)) // shows at once what is missing before it
	run.AwaitAll(lookCore, "ADDED "+kept, "ADDED "+deleted, "ADDED "+changed, "ADDED "+recreated, "ADDED "+gone)
	run.Update(run.Changed(kept))
	run.Delete(follow.Pod(gone))
	run.Await(lookCore, "ADDED "+brought, "MODIFIED "+kept, "DELETED "+gone)
	run.Other()
	run.Bookmark()

	release := run.Hold()
	run.CloseWatches()
	run.Delete(follow.Pod(deleted))
	run.MoreDigits()
	run.Update(run.Changed(changed))
	run.Delete(follow.Pod(recreated))
	run.Create(follow.Pod(recreated))
	run.Create(follow.Pod(added))
	run.Create(follow.Pod(names[7])) // comes and goes: nobody can know
	run.Delete(follow.Pod(names[7]))
	run.Compact()
	release()
	run.AwaitWatch(lookExpired)
	run.Create(follow.Pod(later)) // shows at once what is missing before it
	got := run.AwaitAll(lookExpired, "DELETED "+deleted, "MODIFIED "+changed, "DELETED "+recreated, "ADDED "+recreated, "ADDED "+added)
	if slices.Index(got, "DELETED "+recreated) > slices.Index(got, "ADDED "+recreated) {
		t.Reject("DELETED "+recreated+" before ADDED "+recreated, "the other order", "the order of your comparisons")
	}
	run.Await(lookExpired, "ADDED "+later)
	checkLists(t, run)

	release = run.Hold()
	run.CloseWatches()
	run.Create(follow.Pod(names[7]))
	run.Delete(follow.Pod(names[7]))
	run.Compact()
	lists := len(run.Requests("list"))
	run.AfterRequest(func(*http.Request) {
		if len(run.Requests("list")) > lists { // once the new list has been answered, and before its watch
			run.AfterRequest(nil)
			run.Adjacent()
			run.Update(run.Changed(kept))
		}
	})
	release()
	run.Await("what you report if the new list is like the one before, and where its watch begins", "MODIFIED "+kept)
	run.End(follow.LookEnd)
}

// checkLists rejects a list after 410 that a server may answer with a state from before 410.
func checkLists(t *grade.T, run *follow.Run) {
	for i, list := range run.Requests("list") {
		if i > 0 && list.Query.Get("resourceVersion") == "0" { // at the first one, nothing is known that could be newer
			t.Reject("after 410, a list that is no older than what was reported",
				`a list with the resourceVersion "0": any state, also an older one`, "ResourceVersion in the options of List")
		}
	}
}

// gradeQuietTime ends a watch after an event, and the next one after a bookmark. Neither needs a new list.
func gradeQuietTime(t *grade.T, mirror follow.Answer) {
	run := startWithoutStreaming(t)
	names := run.Names(3)
	run.Start(mirror)
	run.AwaitWatch(lookCore)
	for _, name := range names {
		run.MoreDigits()
		run.Create(follow.Pod(name))
		run.Await(lookCore, "ADDED "+name)
		run.CloseWatches()
		run.AwaitWatch("exercise 1.3")

		time.Sleep(time.Duration(60+t.Rand.IntN(30)) * time.Minute)
		run.MoreDigits()
		run.Other()
		run.Bookmark()
		release := run.Hold()
		run.CloseWatches()
		run.Compact()
		release()
		run.AwaitWatch("what your code does with a bookmark, as in exercise 1.4")
	}
	if lists := len(run.Requests("list")); lists > 1 {
		t.Reject("one list, because bookmarks have brought newer versions", fmt.Sprintf("%d lists", lists),
			"AllowWatchBookmarks, and the version of a bookmark, as in exercise 1.4")
	}
	run.End(follow.LookEnd)
}

// gradeFailures lets requests fail, again and again.
func gradeFailures(t *grade.T, mirror follow.Answer) {
	internal := follow.ErrorEvent{StatusError: apierrors.NewInternalError(errors.New("the grader ends this watch"))}
	for _, failure := range []struct {
		name, verb string
		err        error
	}{
		{"the new list is answered with 403", "list", follow.Forbidden},
		{"each watch is answered with 403", "watch", follow.Forbidden},
		{"each watch sends an ERROR with 500", "watch", internal},
	} {
		run := startWithoutStreaming(t)
		names := run.Names(2)
		run.Create(follow.Pod(names[0]))
		run.Start(mirror)
		run.Await(lookCore, "ADDED "+names[0])
		run.AwaitWatch(lookCore)
		release := run.Hold()
		run.CloseWatches()
		run.Create(follow.Pod(names[1]))
		if failure.verb == "list" {
			run.Compact() // so a new list is needed
		}
		run.Refuse(failure.verb, failure.err)
		release()
		if !run.AwaitErrorOrPauses(failure.name, "what your code does with an error that is not Expired") {
			run.Refuse(failure.verb, nil)
			run.Await("what your code reports when a request has failed", "ADDED "+names[1])
			run.End(follow.LookEnd)
		}
	}
}

// gradeEnds looks at the end of a watch that has sent an ERROR, at a watch that is answered with 410, at the ends of many watches,
// and at the end of ctx while a List gets no answer or a report takes its time.
func gradeEnds(t *grade.T, mirror follow.Answer) {
	run := startWithoutStreaming(t)
	run.Start(mirror)
	run.AwaitWatch(lookCore)
	run.Refuse("watch", follow.Expired)
	run.CloseWatches()
	time.Sleep(10 * time.Millisecond)
	run.Refuse("watch", nil)
	run.AwaitWatch(lookExpired)
	synctest.Wait() // until what the answer has ended has ended
	run.CheckWatches("one watch is open at a time")

	run.Refuse("watch", apierrors.NewResourceExpired("the grader answers the request itself with 410"))
	run.CloseWatches()
	time.Sleep(10 * time.Millisecond)
	run.Refuse("watch", nil)
	run.AwaitWatch("410 can also be the error of Watch: " + lookExpired)

	run.Refuse("list", follow.ErrHangs)
	release := run.Hold()
	run.CloseWatches()
	run.Other()
	run.Compact()
	release()
	time.Sleep(time.Minute) // until the list hangs
	run.End(follow.LookEnd)

	run = startWithoutStreaming(t)
	run.Start(mirror)
	run.CloseOften("exercise 1.3: the next watch")
	run.EndInReport()
}
