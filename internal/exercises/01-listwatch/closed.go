package listwatch

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/follow"
)

// Closed grades the answers to "Go on when the watch ends".
var Closed = grade.Exercise[follow.From]{
	Timeout: 10 * time.Second, // an answer that never opens the next watch shows nothing but silence
	Grade:   gradeClosed,
}

const lookClosed = `which version the next watch needs, and no comparison: "The watch ends" in the chapter's README`

func gradeClosed(t *grade.T, learners follow.From) {
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
func gradeCloses(t *grade.T, learners follow.From, quiet time.Duration, lastEvents ...watch.EventType) {
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
		run.Await(lookClosed, "ADDED "+missed, "MODIFIED "+missed, "DELETED "+missed, "ADDED "+next)
	}
	run.End(follow.LookEnd)
}
