package follow

import (
	"context"
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

// NearPowerOfTen writes until the version is at most 10 less than the next power of ten. Soon after, 9998 and 10001 show who
// compares versions as texts.
func (r *Run) NearPowerOfTen() {
	counter := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "counter"}}
	for version := r.Create(counter); ; version = r.Update(counter) {
		number, err := strconv.Atoi(version)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(strconv.Itoa(number+10)) > len(version) {
			return
		}
		counter.Data = map[string]string{"after": version}
	}
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
