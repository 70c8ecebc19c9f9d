package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"example.com/client-go-workbook/internal/exercise/grade"
)

type leaderAnswer = func(ctx context.Context, lock resourcelock.Interface, work func(ctx context.Context)) error

// Leader grades the answers to "Fail over without two leaders".
var Leader = grade.Exercise[leaderAnswer]{
	Grade: func(t *grade.T, lead leaderAnswer) {
		needs := time.Duration(120+t.Rand.IntN(1800)) * time.Second // others find out up to 24 s later that a Lease has run out
		t.Bubble(func(t *grade.T) {
			t.Doing("Lead returns when the lock has no identity")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := lead(ctx, &lock{lease: &lease{}, name: ""}, func(context.Context) {}); err == nil {
				t.Reject("Lead returns an error when the lock has no identity", "it returns nil", "the error of NewLeaderElector")
			}

			for _, server := range []trouble{refuses, silent} {
				away := startLead(t, &lease{server: server}, lead, "olga", time.Second)
				time.Sleep(time.Minute)
				away.cancel()
				await(t, away.lease, away.returned, 2*time.Minute, "Lead returns when ctx ends and the server "+string(server), notEnded)
				away.check(t, false)
			}

			late := startLead(t, &lease{endsAtOnce: true}, lead, "emil", time.Second)
			const lateEnd = "Lead returns when ctx ends while the Lease is being acquired"
			await(t, late.lease, late.returned, time.Minute, lateEnd, notCalled)
			late.check(t, false)
			time.Sleep(time.Minute)
			if late.lease.isBegun("emil") && !late.begunInTime {
				t.Reject("work is not called after Lead has returned, also if ctx ends while the Lease is being acquired", "it is called",
					"OnStartedLeading runs in a goroutine of its own, which may begin late")
			}

			l := &lease{}
			first := startLead(t, l, lead, "anna", needs)
			await(t, l, first.works, time.Minute, "work is called in the only process", "OnStartedLeading")
			second := startLead(t, l, lead, "ben", time.Second)
			third := startLead(t, l, lead, "carl", time.Second)
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
			last := startLead(t, l, lead, "dora", time.Second)
			await(t, l, second.asked, 15*time.Second, "the context of work ends when the Lease cannot be renewed",
				"the context that OnStartedLeading gets")
			l.pass("zoe") // who ends at once
			await(t, l, second.returned, time.Minute, "Lead returns when the Lease is lost", "LeaderElector.Run")
			second.check(t, true)
			await(t, l, last.works, time.Minute, "another process leads after the Lease has run out", "LeaseDuration")
			last.cancel()
			await(t, l, last.returned, time.Minute, "Lead returns when ctx ends", "LeaderElector.Run")
			last.check(t, false)

			for _, server := range []trouble{refuses, silent, silentToWrites} {
				alone := startLead(t, &lease{}, lead, "finn", time.Second)
				await(t, alone.lease, alone.works, time.Minute, "work is called in the only process", "OnStartedLeading")
				alone.lease.set(server)
				alone.cancel()
				await(t, alone.lease, alone.returned, 2*time.Minute, "Lead returns when ctx has ended, and the server "+string(server),
					notEnded)
				alone.check(t, false)
			}

			// The Lease runs out while the work ends, and another process takes it.
			out := startLead(t, &lease{}, lead, "rita", needs)
			await(t, out.lease, out.works, time.Minute, "work is called in the only process", "OnStartedLeading")
			out.cancel()
			out.lease.breakRenewals("rita")
			time.Sleep(time.Minute)
			out.lease.pass("zoe")
			await(t, out.lease, out.returned, needs+time.Minute, "Lead returns after work has", "the goroutine that runs the elector")

			// Another process takes the Lease while the work runs, and while it ends.
			for _, ended := range []bool{false, true} {
				taken := startLead(t, &lease{}, lead, "hugo", needs)
				await(t, taken.lease, taken.works, time.Minute, "work is called in the only process", "OnStartedLeading")
				if ended {
					taken.cancel()
				}
				taken.lease.pass("zoe")
				await(t, taken.lease, taken.asked, 15*time.Second, "the context of work ends when another process has taken the Lease",
					"the context that OnStartedLeading gets")
				await(t, taken.lease, taken.returned, needs+time.Minute, "Lead returns after work has, also if another has taken the Lease",
					"LeaderElector.Run")
				if !ended {
					taken.check(t, true)
				}
			}

			// The work ends while a request is under way, which takes some time more when its context has ended.
			slow := startLead(t, &lease{slowEnd: time.Duration(1+t.Rand.IntN(60)) * time.Minute}, lead, "gina", 0)
			await(t, slow.lease, slow.works, time.Minute, "work is called in the only process", "OnStartedLeading")
			slow.cancel()
			await(t, slow.lease, slow.returned, 2*time.Hour, "Lead returns after LeaderElector.Run has", "LeaderElector.Run")
			time.Sleep(time.Hour)
			await(t, slow.lease, slow.returned, time.Second, "Lead has returned", "LeaderElector.Run")
		})
	},
}

// notCalled is where to look if Lead does not return without having led.
const notCalled = "who ends the context of LeaderElector.Run when work was never called?"

// notEnded is where to look if Lead does not return while the server does not answer.
const notEnded = "which context has each request, also that of the release, and when does it end?"

// process is one of those that want to lead.
type process struct {
	name                   string
	lease                  *lease
	begunInTime            bool // work was called before Lead returned
	cancel                 context.CancelFunc
	works, asked, returned chan struct{} // closed when work is called, when its context ends, and when Lead has returned
	err                    error         // of Lead
}

// startLead calls Lead. Its work takes some more time when its context has ended.
func startLead(t *grade.T, l *lease, lead leaderAnswer, name string, needs time.Duration) *process {
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
			if l.slowEnd > 0 {
				l.waitForRequest()
			}
			l.end()
		})
		if l.isWorking(name) {
			l.wrong("Lead returns after work has", "it returns while work still runs"+l.takenFrom(name),
				"OnStartedLeading runs in a goroutine of its own: who waits for it?")
		}
		p.begunInTime = l.isBegun(name)
		l.leave(name)
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
	server  trouble
	// slowEnd is how long a request takes to return when its context has ended.
	slowEnd time.Duration
	// endsAtOnce ends the context of a process while it acquires the Lease.
	endsAtOnce bool
	sending    map[string]int  // how many requests of each process are under way
	left       map[string]bool // whose Lead has returned
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

// pass gives the Lease to another process.
func (l *lease) pass(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	record := *l.record
	record.HolderIdentity = name
	l.record = &record
	l.version++
}

// trouble is what the server does with requests: words for a verdict.
type trouble string

const (
	refuses        trouble = "refuses connections"
	silent         trouble = "answers nothing"
	silentToWrites trouble = "answers no write"
)

func (l *lease) set(server trouble) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
}

// waitForRequest waits until a request is under way, or no more come.
func (l *lease) waitForRequest() {
	for range 6000 {
		l.mu.Lock()
		sending := l.sending[l.working]
		l.mu.Unlock()
		if sending > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// leave checks that a process has no requests any more when its Lead has returned.
func (l *lease) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == nil {
		l.left = map[string]bool{}
	}
	l.left[name] = true
	if l.sending[name] > 0 {
		l.wrongLocked("all requests have ended when Lead returns", "a request still runs", "who waits for LeaderElector.Run?")
	}
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

// send is the way of a request to the server and back. It takes a moment, and ends with ctx.
func (l *lock) send(ctx context.Context, writes bool) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.mu.Lock()
	if l.left[l.name] {
		l.wrongLocked("no request is sent when Lead has returned", "one is sent", "who waits for LeaderElector.Run?")
	}
	if l.sending == nil {
		l.sending = map[string]int{}
	}
	l.sending[l.name]++
	server := l.server
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sending[l.name]--
	}()

	answer := time.After(100 * time.Millisecond)
	switch {
	case server == refuses:
		return errNoAnswer
	case server == silent, server == silentToWrites && writes:
		answer = nil
	}
	select {
	case <-answer:
		return nil
	case <-ctx.Done():
		time.Sleep(l.slowEnd)
		return ctx.Err()
	}
}

func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if err := l.send(ctx, false); err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record == nil {
		return nil, nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), "leader")
	}
	l.version = l.lease.version
	record := *l.record
	raw, err := json.Marshal(record)
	return &record, raw, err
}

func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if err := l.send(ctx, true); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record != nil {
		return apierrors.NewAlreadyExists(coordinationv1.Resource("leases"), "leader")
	}
	l.store(record)
	if l.endsAtOnce {
		l.cancel()
		time.Sleep(time.Second) // the answer comes after the end
	}
	return nil
}

func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	broken := l.broken == l.name && record.HolderIdentity != ""
	l.mu.Unlock()
	if broken {
		return errNoAnswer
	}
	if err := l.send(ctx, true); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.version != l.lease.version:
		return apierrors.NewConflict(coordinationv1.Resource("leases"), "leader", errors.New("the Lease has changed"))
	case record.HolderIdentity == "" && l.record.HolderIdentity != "" && l.record.HolderIdentity != l.name:
		l.wrongLocked("only its holder releases the Lease", fmt.Sprintf("%s releases it, and %s holds it", l.name, l.record.HolderIdentity),
			"LeaderElectionRecord.HolderIdentity, and Identity of the lock")
	case record.HolderIdentity == "" && l.working == l.name:
		l.wrongLocked("the Lease is released after work has returned",
			fmt.Sprintf("it is released while the work of %s still runs%s", l.name, l.lostBy(l.name)),
			`when does LeaderElector release? the section "Why" of the chapter, "First the workers, then the Lease"`)
	}
	l.store(record)
	return nil
}

// takenFrom says whether another process holds the Lease now.
func (l *lease) takenFrom(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record == nil || l.record.HolderIdentity == name {
		return ""
	}
	return ", when another process has taken the Lease"
}

// lostBy is why the work of a process has to end, if that is not its context.
func (l *lease) lostBy(name string) string {
	if l.broken == name {
		return ", which has to end because the Lease could not be renewed"
	}
	return ""
}

func (l *lock) store(record resourcelock.LeaderElectionRecord) {
	l.record = &record
	l.lease.version++
	l.version = l.lease.version
}
