package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
)

// circumstance is what happens to the controller meanwhile.
type circumstance struct {
	did      string
	isDown   bool   // no controller runs
	isKilled bool   // in the middle, and started again after the events
	late     string // the resource whose watch shows nothing
}

var nothing = circumstance{did: "the controller ran"}

// subject is an object to which things happen.
type subject struct {
	name   string
	keeps  bool // what was asked for at first: its children stay when it is deleted
	events []event

	d           *unstructured.Unstructured // as it was when it was Ready for the first time
	children    sets.Set[string]           // that it had then, without those that somebody has deleted
	keepsNow    bool
	isBlocked   bool // something keeps the controller from doing all that is asked for
	isChanged   bool
	asksTooMuch bool                       // what the server refuses for a child
	cascade     metav1.DeletionPropagation // empty: it is not deleted
	hasTurned   bool                       // whether its children stay was changed after the deletion
	hasToGo     bool                       // its children have to go with it
	toStay      sets.Set[string]           // children that have to outlive it; nil: none has to
	undo        []undoing
	isUndone    bool
}

// combination is the promise while it is tried.
type combination struct{ *walk }

// combined lets two or three things happen to each object, often with its deletion, while something happens to the controller. Then
// what lasts is undone. What was promised has to be true: no case asks for more than the other promises do.
func combined(ctx context.Context, w *World) error {
	x := combination{&walk{World: w, fresh: map[string]string{}}}
	rounds, size := max(1, w.steps/25), 16
	if w.sample > 0 {
		rounds, size = 1, 2*w.sample
	}
	circumstances := []circumstance{
		{did: "no controller ran", isDown: true},
		{did: "the controller was killed, and then started again", isKilled: true},
	}
	for _, resource := range w.resource.watched() {
		if resource != "pods" {
			circumstances = append(circumstances, circumstance{did: "the watch of " + resource + " showed nothing", late: resource})
		}
	}
	for round := range rounds {
		c := nothing
		if round%2 == 1 || w.sample > 0 && w.random.IntN(2) == 0 {
			c = circumstances[w.random.IntN(len(circumstances))]
		}
		subjects := []*subject{}
		for i := range size {
			subjects = append(subjects, w.newSubject(fmt.Sprintf("combined%d%02d", round, i)))
		}
		w.say("%d objects, two or three events for each; meanwhile, %s", size, c.did)
		err := x.play(ctx, c, subjects)
		var failure *Failure
		if !errors.As(err, &failure) {
			if err != nil {
				return err
			}
			continue
		}
		for _, s := range subjects {
			if s.name == failure.About {
				w.say("%s has failed: looking for the fewest events that fail", s.name)
				return x.fewest(ctx, c, s, failure)
			}
		}
		return err
	}
	return w.untilQuiet(ctx)
}

// newSubject returns a subject with events by chance: two or three, and in most cases a deletion. After it, something can happen only if
// somebody else's finalizer holds the object.
func (w *World) newSubject(name string) *subject {
	chance := rand.New(rand.NewPCG(w.random.Uint64(), 0))
	events := w.events()
	chance.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	events = events[:2+chance.IntN(2)]
	first := len(events)
	if i := slices.IndexFunc(events, func(e event) bool { return e.holds }); i >= 0 {
		events[0], events[i] = events[i], events[0]
		first = 1
	}
	if chance.IntN(5) > 0 {
		cascades := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground}
		if w.resource.isDatabaseManager() { // who cleans up by a finalizer cannot know that children are to be orphans
			cascades = append(cascades, metav1.DeletePropagationOrphan)
		}
		cascade := cascades[chance.IntN(len(cascades))]
		deletion := event{did: "deleted it with --cascade=" + strings.ToLower(string(cascade)), do: deleteIt, cascade: cascade}
		at := first // so that, in most cases, something happens to an object that is held
		if chance.IntN(3) == 0 {
			at += chance.IntN(len(events) - first + 1)
		}
		events = slices.Insert(events, at, deletion)
	}
	for i := range events {
		e := &events[i]
		e.seed, e.kind, e.waits = chance.Uint64(), chance.IntN(len(w.resource.kinds)), chance.IntN(3) > 0
		e.did = strings.ReplaceAll(e.did, "{kind}", w.resource.kinds[e.kind].Kind)
	}
	return &subject{name: name, keeps: w.keeps() && chance.IntN(3) == 0, events: events}
}

// play tries subjects under a circumstance. A failure is about one of them.
func (x *combination) play(ctx context.Context, c circumstance, subjects []*subject) (err error) {
	all := func(do func(context.Context, *subject) error) error {
		return each(ctx, subjects, func(ctx context.Context, _ int, s *subject) error {
			err := do(ctx, s)
			return about(s.name, during(s.told(c), err)) // with what has happened by now
		})
	}
	p, err := x.restart() // who has had errors waits longer before the next try
	if err != nil {
		return err
	}
	if err := all(x.beginning); err != nil {
		return err
	}
	if err := x.untilCollected(ctx); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, x.undoAll(ctx, subjects)) }() // also after a failure
	switch {
	case c.isDown:
		p.kill()
		<-p.stopped
	case c.late != "":
		x.gates[c.late].Close()
	}
	begin, events := time.Now(), atomic.Int32{}
	err = all(func(ctx context.Context, s *subject) error {
		s.isBlocked = c.isDown || c.late != ""
		return x.happen(ctx, s, func() {
			if int(events.Add(1)) == len(subjects) && c.isKilled {
				p.kill()
			}
		})
	})
	if err != nil {
		return err
	}
	if c.isDown || c.isKilled {
		if _, err := x.restart(); err != nil {
			return err
		}
	}
	if err := pause(ctx, time.Second); err != nil { // so that it can do harm
		return err
	}
	if err := all(x.decideAgain); err != nil {
		return err
	}
	if err := x.undoAll(ctx, subjects); err != nil {
		return err
	}
	timeout := x.timeout + time.Since(begin) // who has failed for so long may wait for as long until the next try
	err = all(func(ctx context.Context, s *subject) error {
		if s.cascade != "" {
			return x.untilGoneIn(ctx, timeout, s.name)
		}
		return x.untilAsNew(ctx, timeout, s)
	})
	if err != nil {
		return err
	}
	if err := x.untilCollected(ctx); err != nil {
		return err
	}
	return all(x.after)
}

// undoAll undoes what lasts. It may be called again.
func (x *combination) undoAll(ctx context.Context, subjects []*subject) (err error) {
	for _, gate := range x.gates {
		gate.Open()
	}
	for _, s := range subjects {
		for _, undo := range s.undo {
			err = cmp.Or(err, unlessGone(undo(ctx)))
		}
		s.undo, s.isUndone = nil, true
	}
	return err
}

// restart kills the controller that runs, if one does, and starts it again.
func (x *combination) restart() (*Process, error) {
	if len(x.processes) > 0 {
		last := x.processes[len(x.processes)-1]
		last.kill()
		<-last.stopped
	}
	return x.startController()
}

// told says what happens to a subject.
func (s *subject) told(c circumstance) string {
	text := "created " + s.name
	if s.keeps {
		text += ", so that its children stay when it is deleted"
	}
	for _, e := range s.events {
		if !e.isDone || e.did == "" {
			continue
		}
		if e.waits {
			text += "; waited 2 s at most for the status"
		}
		text += "; " + e.did
	}
	if text += ". Meanwhile, " + c.did; s.isUndone {
		text += ". Then undid what lasts"
	}
	return text
}

// beginning creates the object.
func (x *combination) beginning(ctx context.Context, s *subject) (err error) {
	var changes []patch
	if s.keeps {
		changes = append(changes, x.resource.Keep)
	}
	if _, err = x.createSample(ctx, 0, s.name, changes...); err != nil {
		return err
	}
	if s.d, _, err = x.untilReady(ctx, s.name, ""); err != nil {
		return err
	}
	s.keepsNow = s.keeps
	s.children, err = x.here(ctx, s)
	return err
}

// here returns the children that are there, and that nobody has deleted.
func (x *combination) here(ctx context.Context, s *subject) (sets.Set[string], error) {
	children, err := x.children(ctx, s.d)
	here := sets.New[string]()
	for _, o := range children {
		if o.GetDeletionTimestamp() == nil {
			here.Insert(identity(&o))
		}
	}
	return here, err
}

// happen lets the events happen, and calls a function after each.
func (x *combination) happen(ctx context.Context, s *subject, after func()) error {
	for i := range s.events {
		e := &s.events[i]
		if e.waits {
			if _, err := x.settle(ctx, s, 2*time.Second); err != nil {
				return err
			}
		}
		s.isBlocked = s.isBlocked || e.blocks
		undo, err := e.do(ctx, x, s, e)
		if undo != nil {
			s.undo = append(s.undo, undo)
		}
		refused := apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
		if unlessGone(err) != nil && !refused {
			return fmt.Errorf("%s: %w", e.did, err)
		}
		e.isDone = err == nil
		after()
	}
	return nil
}

// settle waits until the status is about the current spec, but not for longer than a limit, and reports whether it is. An object that is
// gone is settled.
func (x *combination) settle(ctx context.Context, s *subject, limit time.Duration) (isSettled bool, err error) {
	for end := time.Now().Add(limit); ; {
		d, err := x.owners.Get(ctx, s.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil || x.behind(d) == "" || time.Now().After(end) {
			return err == nil && x.behind(d) == "", err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return false, err
		}
	}
}

// decide notes what has to become of the children: of those that are there when the controller says that all is as the spec asks for.
func (x *combination) decide(ctx context.Context, s *subject, isTold bool) (err error) {
	s.hasToGo, s.toStay = false, nil
	switch {
	case !s.keepsNow && s.cascade != metav1.DeletePropagationOrphan:
		s.hasToGo = !s.hasTurned // what was released after the deletion may stay
	case !s.keepsNow && s.hasTurned:
	case isTold && s.isBlocked && len(x.resource.Ready.ObservedGeneration) == 0: // that nobody writes says nothing then
	case isTold:
		s.toStay, err = x.here(ctx, s)
	}
	return err
}

// decideAgain decides about an object that was deleted, is held, and then was to keep its children, or not to. The status of a
// DatabaseManager that is to keep them must be about that, unless something else prevents it. What was released once may stay.
func (x *combination) decideAgain(ctx context.Context, s *subject) error {
	if !s.hasTurned {
		return nil
	}
	d, err := x.owners.Get(ctx, s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) { // before or after the change
		s.hasToGo, s.toStay = false, nil
		return nil
	}
	if err == nil && s.keepsNow && !s.isBlocked && x.resource.isDatabaseManager() {
		const what = "the status of an object that was deleted, and then was to keep its children"
		err = x.await(ctx, what, func(ctx context.Context) (behind string, err error) {
			if d, err = x.owners.Get(ctx, s.name, metav1.GetOptions{}); err == nil {
				behind = diffOf("", x.behind(d))
			}
			return behind, err
		})
	}
	if err != nil {
		return err
	}
	return x.decide(ctx, s, x.behind(d) == "")
}

// untilAsNew waits until an object that was not deleted has the children of a new one with its spec, and those that it had. A change may
// have added one, as a rollout does.
func (x *combination) untilAsNew(ctx context.Context, timeout time.Duration, s *subject) error {
	d, err := x.owners.Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	want, err := x.stateOfNew(ctx, d)
	if err != nil {
		return err
	}
	const what = " to have the children of a new object with its spec, and to be Ready"
	err = x.awaitFor(ctx, timeout, s.name+what, func(ctx context.Context) (string, error) {
		now, err := x.stateOfChildren(ctx, s.name)
		if err != nil {
			return "", err
		}
		if s.isChanged && !x.resource.isDatabaseManager() {
			now = only(want, now)
		}
		if diff := diffOf(want, now); diff != "" || s.asksTooMuch {
			return diff, nil
		}
		d, err := x.owners.Get(ctx, s.name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return diffOf(isReady, x.resource.told(d)), nil
	})
	if err != nil {
		return err
	}
	now, err := x.here(ctx, s)
	if err != nil {
		return err
	}
	if err := failed("looked for its children of before", strings.Join(sets.List(s.children.Difference(now)), "\n"), ""); err != nil {
		return err
	}
	return x.delete(ctx, s.name)
}

// only returns those children of a state that another state has, too.
func only(want, state string) string {
	wanted := strings.Split(want, "---\n")
	children := slices.DeleteFunc(strings.Split(state, "---\n"), func(child string) bool { return !slices.Contains(wanted, child) })
	return strings.Join(children, "---\n")
}

// after looks at the children of an object that is gone, and deletes those that are left.
func (x *combination) after(ctx context.Context, s *subject) error {
	if s.hasToGo {
		return x.untilCollectedOf(ctx, s.d)
	}
	if s.toStay != nil {
		children, err := x.children(ctx, s.d)
		if err != nil {
			return err
		}
		now := []string{}
		for _, o := range children {
			text := identity(&o)
			if !s.toStay.Has(text) {
				continue // it was created later
			}
			if isOwnedBy(&o, s.d.GetUID()) {
				text += owned
			}
			if o.GetDeletionTimestamp() != nil {
				text += ", being deleted"
			}
			now = append(now, text)
		}
		slices.Sort(now)
		want := strings.Join(sets.List(s.toStay), "\n")
		if err := failed("looked for the children that have to stay", want, strings.Join(now, "\n")); err != nil {
			return err
		}
	}
	return x.deleteChildren(ctx, s.name, "")
}

// fewest looks for fewer events that fail, too. First, the object is tried alone.
func (x *combination) fewest(ctx context.Context, c circumstance, s *subject, failure *Failure) error {
	x.blamed = x.processes[len(x.processes)-1]
	end, tries := time.Now().Add(2*time.Minute), 0
	fails := func(c circumstance, events []event) (bool, error) {
		tries++
		again := &subject{name: fmt.Sprintf("%sagain%d", s.name, tries), keeps: s.keeps, events: slices.Clone(events)}
		for i := range again.events {
			again.events[i].isDone = false
		}
		err := x.play(ctx, c, []*subject{again})
		var shorter *Failure
		if errors.As(err, &shorter) {
			failure, x.blamed = shorter, x.processes[len(x.processes)-1]
			return true, nil
		}
		return false, ctx.Err() // a request of the suite that fails changes nothing of what was seen
	}
	isAgain, err := fails(c, s.events)
	if err != nil {
		return err
	}
	if !isAgain {
		failure.Did += ". Alone, it did not fail again"
		return failure
	}
	if c != nothing {
		isAgain, err := fails(nothing, s.events)
		if err != nil {
			return err
		}
		if isAgain {
			c = nothing
		}
	}
	for i := 0; i < len(s.events) && time.Now().Before(end); {
		fewer := slices.Delete(slices.Clone(s.events), i, i+1)
		isAgain, err := fails(c, fewer)
		if err != nil {
			return err
		}
		if isAgain {
			s.events, i = fewer, 0
		} else {
			i++
		}
	}
	return failure
}
