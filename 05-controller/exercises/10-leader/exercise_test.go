package exercise_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	exercise "example.com/client-go-workbook/05-controller/exercises/10-leader"
	answers "example.com/client-go-workbook/05-controller/exercises/answers/10-leader"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Lead,
	Accepted: []answer{answers.Lead, answers.HoldsTheLockBack},
	Rejected: []grade.Rejected[answer]{
		{Name: "exits", Answer: answers.Exits, Says: "the program has ended by itself"},
		{Name: "forgets a late start", Answer: answers.ForgetsALateStart, Says: "ends while the Lease is being acquired"},
		{Name: "never releases", Answer: answers.NeverReleases, Says: "soon after the first has ended"},
		{Name: "gives work the caller's context", Answer: answers.GivesWorkTheCallersContext, Says: "when the Lease cannot be renewed"},
		{Name: "lets the Lease run out", Answer: answers.LetsTheLeaseRunOut, Says: "works while"},
		{Name: "releases what it has lost", Answer: answers.ReleasesWhatItHasLost, Says: "released while"},
	},
	Grade: func(t *grade.T, lead answer) {
		needs := time.Duration(30+t.Rand.IntN(30)) * time.Second // others find out up to 24 s later that a Lease has run out
		t.Bubble(func(t *grade.T) {
			away := start(t, &lease{away: true}, lead, "olga", time.Second)
			time.Sleep(time.Minute)
			away.cancel()
			await(t, away.lease, away.returned, time.Minute, "Lead returns when ctx ends and the server does not answer", notCalled)
			away.check(t, false)

			late := start(t, &lease{endsAtOnce: true}, lead, "emil", time.Second)
			const lateEnd = "Lead returns when ctx ends while the Lease is being acquired"
			await(t, late.lease, late.returned, time.Minute, lateEnd, notCalled)
			late.check(t, false)
			time.Sleep(time.Minute)
			if late.lease.isBegun("emil") && !late.begunInTime {
				t.Reject("work is not called after Lead has returned, also if ctx ends while the Lease is being acquired", "it is called",
					"OnStartedLeading runs in a goroutine of its own, which may begin late")
			}

			l := &lease{}
			first := start(t, l, lead, "anna", needs)
			await(t, l, first.works, time.Minute, "work is called in the only process", "OnStartedLeading")
			second := start(t, l, lead, "ben", time.Second)
			third := start(t, l, lead, "carl", time.Second)
			time.Sleep(time.Minute)

			third.cancel()
			await(t, l, third.returned, time.Minute, "Lead returns when ctx ends, also if it never led", notCalled)
			third.check(t, false)

			first.cancel()
			await(t, l, first.asked, time.Second, "the context of work ends with ctx", "context.WithCancel")
			await(t, l, first.returned, needs+time.Minute, "Lead returns after work has", "the goroutine that runs the elector")
			first.check(t, false)
			await(t, l, second.works, 10*time.Second, "another process leads soon after the first has ended",
				"who releases the Lease, and when?")

			l.breakRenewals("ben")
			last := start(t, l, lead, "dora", time.Second)
			await(t, l, second.asked, 15*time.Second, "the context of work ends when the Lease cannot be renewed",
				"the context that OnStartedLeading gets")
			await(t, l, second.returned, time.Minute, "Lead returns when the Lease is lost", "LeaderElector.Run")
			second.check(t, true)
			await(t, l, last.works, time.Minute, "another process leads after the Lease has run out", "LeaseDuration")
			l.stopAnswering()
			last.cancel()
			await(t, l, last.returned, time.Minute, "Lead returns when ctx ends and the server has stopped answering", "LeaderElector.Run")
			last.check(t, false)
		})
	},
}

// notCalled is where to look if Lead does not return without having led.
const notCalled = "who ends the context of LeaderElector.Run when work was never called?"

// process is one of those that want to lead.
type process struct {
	name                   string
	lease                  *lease
	begunInTime            bool // work was called before Lead returned
	cancel                 context.CancelFunc
	works, asked, returned chan struct{} // closed when work is called, when its context ends, and when Lead has returned
	err                    error         // of Lead
}

// start calls Lead. Its work takes some more time when its context has ended.
func start(t *grade.T, l *lease, lead answer, name string, needs time.Duration) *process {
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{name: name, lease: l, cancel: cancel}
	p.works, p.asked, p.returned = make(chan struct{}), make(chan struct{}), make(chan struct{})
	t.Cleanup(cancel)
	go func() {
		defer close(p.returned)
		p.err = lead(ctx, &lock{lease: l, name: name, cancel: cancel}, func(ctx context.Context) {
			if !l.begin(name) {
				return
			}
			close(p.works)
			<-ctx.Done()
			close(p.asked)
			time.Sleep(needs)
			l.end()
		})
		if l.isWorking(name) {
			l.wrong("Lead returns after work has", "it returns while work still runs", "OnStartedLeading runs in a goroutine of its own")
		}
		p.begunInTime = l.isBegun(name)
	}()
	return p
}

// check checks what Lead has returned.
func (p *process) check(t *grade.T, wantError bool) {
	switch {
	case wantError && p.err == nil:
		t.Reject("Lead returns an error when the Lease is lost", "it returns nil", "how do you know why work's context has ended?")
	case !wantError && p.err != nil:
		t.Reject("Lead returns nil when ctx has ended", fmt.Sprintf("it returns: %v", p.err), "ctx.Err")
	}
}

// await waits for something to happen, and rejects the answer if it does not, or if something else has been wrong.
func await(t *grade.T, l *lease, happens chan struct{}, within time.Duration, expected, look string) {
	t.Doing("%s", expected)
	select {
	case <-happens:
	case <-time.After(within):
		t.Reject(expected, fmt.Sprintf("it has not happened after %s on the grader's clock", within), look)
	}
	l.mu.Lock()
	problem := l.problem
	l.mu.Unlock()
	if problem != [3]string{} {
		t.Reject(problem[0], problem[1], problem[2])
	}
}

// lease is what the server holds, and who works. It checks versions, as the server does.
type lease struct {
	mu      sync.Mutex
	record  *resourcelock.LeaderElectionRecord
	version int
	broken  string // whose renewals fail
	away    bool   // the server does not answer
	// endsAtOnce ends the context of a process while it acquires the Lease.
	endsAtOnce bool
	working    string          // whose work runs
	began      map[string]bool // whose work has been called
	problem    [3]string       // expected, seen, look: the first that was wrong
}

func (l *lease) wrong(expected, seen, look string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrongLocked(expected, seen, look)
}

func (l *lease) wrongLocked(expected, seen, look string) {
	if l.problem == [3]string{} {
		l.problem = [3]string{expected, seen, look}
	}
}

// begin returns false if this must not happen.
func (l *lease) begin(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.working != "":
		l.wrongLocked("one process works at a time", fmt.Sprintf("%s works while %s still does", name, l.working),
			`until when do you renew? the section "Why" of the chapter, "First the workers, then the Lease"`)
	case l.began[name]:
		l.wrongLocked("work is called once", "it is called again in the same process", "OnStartedLeading")
	case l.record == nil || l.record.HolderIdentity != name:
		l.wrongLocked("work runs only while its process holds the Lease", name+" works and does not hold it", "OnStartedLeading")
	default:
		if l.began == nil {
			l.began = map[string]bool{}
		}
		l.began[name], l.working = true, name
		return true
	}
	return false
}

func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working = ""
}

func (l *lease) isWorking(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.working == name
}

func (l *lease) isBegun(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.began[name]
}

// breakRenewals lets the renewals of a process fail. A release still succeeds, as if the server had just come back.
func (l *lease) breakRenewals(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = name
}

// stopAnswering lets every request fail.
func (l *lease) stopAnswering() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = true
}

var errNoAnswer = errors.New("the server does not answer")

// lock is a process's access to the lease.
type lock struct {
	*lease
	name    string
	cancel  context.CancelFunc
	version int // that it has read or written last
}

func (l *lock) Identity() string   { return l.name }
func (l *lock) Describe() string   { return "the Lease" }
func (l *lock) RecordEvent(string) {}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return nil, nil, errNoAnswer
	}
	if l.record == nil {
		return nil, nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), "leader")
	}
	l.version = l.lease.version
	record := *l.record
	raw, err := json.Marshal(record)
	return &record, raw, err
}

func (l *lock) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return errNoAnswer
	}
	if l.record != nil {
		return apierrors.NewAlreadyExists(coordinationv1.Resource("leases"), "leader")
	}
	if l.endsAtOnce {
		l.cancel()
	}
	l.set(record)
	return nil
}

func (l *lock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.away, l.broken == l.name && record.HolderIdentity != "":
		return errNoAnswer
	case l.version != l.lease.version:
		return apierrors.NewConflict(coordinationv1.Resource("leases"), "leader", errors.New("the Lease has changed"))
	case record.HolderIdentity == "" && l.working == l.name:
		l.wrongLocked("the Lease is released after work has returned",
			fmt.Sprintf("it is released while the work of %s still runs%s", l.name, l.lostBy(l.name)),
			`when does LeaderElector release? the section "Why" of the chapter, "First the workers, then the Lease"`)
	}
	l.set(record)
	return nil
}

// lostBy is why the work of a process has to end, if that is not its context.
func (l *lease) lostBy(name string) string {
	if l.broken == name {
		return ", which has to end because the Lease could not be renewed"
	}
	return ""
}

func (l *lock) set(record resourcelock.LeaderElectionRecord) {
	l.record = &record
	l.lease.version++
	l.version = l.lease.version
}

func TestExercise(t *testing.T) { grader.Test(t) }

func TestGrader(t *testing.T) { grader.TestGrader(t) }
