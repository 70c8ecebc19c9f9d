package follow

import (
	"context"
	"fmt"
	"strconv"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"example.com/client-go-workbook/internal/exercise/grade"
)

// From is an [Answer] that begins at a version.
type From = func(ctx context.Context, pods typedcorev1.PodInterface, resourceVersion string, report func(event, name string)) error

// StartFrom starts the answer at the current version.
func (r *Run) StartFrom(answer From) {
	version := r.Version()
	r.Start(func(ctx context.Context, pods typedcorev1.PodInterface, report func(event, name string)) error {
		return answer(ctx, pods, version, report)
	})
}

// Other creates an object that no watch of pods shows. It has a version, too.
func (r *Run) Other() {
	r.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "other-"}})
}

// Adjacent lets the next write have the version right after the last one: a watch that begins one too late misses it.
func (r *Run) Adjacent() { r.NextWrite(r.number() + 1) }

// MoreDigits lets the next write have a version with more digits, and with more than 32 bits. As a text, it is less than the one
// before: who compares versions as texts takes it for an older one.
func (r *Run) MoreDigits() {
	next := int64(10_000_000_000)
	for next <= r.number() {
		next *= 10
	}
	r.NextWrite(next + r.t.Rand.Int64N(100))
}

func (r *Run) number() int64 {
	version, err := strconv.ParseInt(r.Version(), 10, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return version
}

// LookEnd is where to look when the end of ctx is taken for an error.
const LookEnd = "ctx.Err(): when ctx ends, a request fails, or the watch sends an ERROR"

// GradeErrors grades what an answer does when a watch fails: it returns the error, but not if ctx has ended. It runs in a bubble.
func GradeErrors(t *grade.T, answer From) {
	const lookRefused, lookWatch = "what your code does with the error of Watch", "exercise 1.3: the next watch"
	run := New(t)
	run.Refuse("watch", Forbidden)
	run.StartFrom(answer)
	run.AwaitError("return the error when the first watch is answered with 403", lookRefused)

	run = New(t)
	run.StartFrom(answer)
	run.AwaitWatch(lookWatch)
	run.Refuse("watch", Forbidden)
	run.CloseWatches()
	run.AwaitError("return the error when a later watch is answered with 403", lookRefused)

	run = New(t)
	run.StartFrom(answer)
	run.AwaitWatch(lookWatch)
	run.Refuse("watch", Expired)
	run.CloseWatches()
	run.AwaitError("return the error of an ERROR event: 410, the version has expired",
		"apierrors.FromObject(event.Object): what becomes of this error?")
	synctest.Wait() // until what the answer has ended has ended
	run.CheckWatches("no watch is open when your function has returned")

	run = New(t)
	run.StartFrom(answer)
	run.AwaitWatch(lookWatch)
	run.Refuse("watch", ErrHangs)
	run.CloseWatches()
	time.Sleep(time.Minute) // until the next request hangs
	run.End(LookEnd)
}

// GradeEnds ends many watches, and then ctx while the answer reports. It runs in a bubble.
func GradeEnds(t *grade.T, answer From) {
	run := New(t)
	run.StartFrom(answer)
	run.CloseOften("exercise 1.3: the next watch")
	run.EndInReport()
}

// CloseOften ends more than a hundred watches. Some pods come while no watch is open.
func (r *Run) CloseOften(look string) {
	for i := range 101 + r.t.Rand.IntN(30) {
		r.AwaitWatch(look)
		release := r.Hold()
		r.CloseWatches()
		if i%10 > 0 {
			release()
			continue
		}
		name := fmt.Sprintf("often-%d", i)
		r.Adjacent()
		r.Create(Pod(name))
		release()
		r.Await("the version of the next watch: is it, or a part of it, in a variable of the package?", "ADDED "+name)
	}
}

// EndInReport ends ctx while a report takes its time. The answer must not return before that.
func (r *Run) EndInReport() {
	const look = "the goroutine that calls report: who waits for it?"
	r.AwaitWatch("exercise 1.3: the next watch")
	r.ReportsTake(time.Minute)
	r.Create(Pod("last"))
	time.Sleep(time.Second) // until it is reported
	r.cancel()
	r.AwaitReturn("return when ctx has ended", look, "ADDED last")
}
