package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// ends are the states after a creation and after a change, without a fault.
type ends struct {
	created, changed string
	writes           int // until it is deleted
}

// live takes an object through its life: created, changed, deleted. Both first ends have to be the wanted ones. Just before each of the
// first two, it calls meanwhile. If children can be kept, the change does that, too: what was there before the deletion has to be there
// after it. Otherwise, they have to go.
func (w *World) live(ctx context.Context, name string, want ends, meanwhile ...func()) (seen ends, err error) {
	start := time.Now()
	call(meanwhile)
	if _, err := w.createSample(ctx, 0, name); err != nil {
		return seen, err
	}
	d, state, err := w.untilReady(ctx, name, want.created)
	if err != nil {
		return seen, during("created "+name, err)
	}
	before, err := w.identities(ctx, d)
	if err != nil {
		return seen, err
	}
	seen.created = state
	call(meanwhile)
	change := w.resource.Change.String()
	if w.keeps() {
		change = merge(change, w.resource.Keep.String())
	}
	if err := w.patch(ctx, name, change); err != nil {
		return seen, err
	}
	did := "created " + name + ", changed it: " + change
	if want.changed == "" { // a status without a generation can be one of before
		err := w.await(ctx, "a child that shows the change", func(ctx context.Context) (string, error) {
			now, err := w.state(ctx, d)
			if err == nil && now == state {
				return "- another child\n+ those of before", nil
			}
			return "", err
		})
		if err != nil {
			return seen, during(did, err)
		}
	}
	if d, seen.changed, err = w.untilReady(ctx, name, want.changed); err != nil {
		return seen, during(did, err)
	}
	after, err := w.identities(ctx, d)
	if err != nil {
		return seen, err
	}
	lost := sets.New(lines(before)...).Difference(sets.New(lines(after)...)) // a change may add one, as a rollout does
	if err := failed(did+"; looked for its children of before", strings.Join(sets.List(lost), "\n"), ""); err != nil {
		return seen, err
	}
	if err := w.delete(ctx, name); err != nil {
		return seen, err
	}
	did += "; deleted it"
	if err := w.untilGone(ctx, name); err != nil {
		return seen, during(did, err)
	}
	seen.writes = len(w.tap.writes(name, start))
	if !w.keeps() {
		return seen, during(did, w.untilCollectedOf(ctx, d))
	}
	kept, err := w.identities(ctx, d)
	if err == nil {
		err = failed(did+"; compared its children before and after that", after, kept)
	}
	if err != nil {
		return seen, err
	}
	return seen, w.deleteChildren(ctx, name, "") // so that the lists of children stay short
}

// keeps reports whether there are objects whose children stay when they are deleted.
func (w *World) keeps() bool { return len(w.resource.Keep) > 0 }

func call(functions []func()) {
	for _, f := range functions {
		f()
	}
}

// withoutFaults returns the ends that all cases must have, too.
func (w *World) withoutFaults(ctx context.Context) (ends, error) {
	if _, err := w.startController(); err != nil {
		return ends{}, err
	}
	want, err := w.live(ctx, "unbroken", ends{})
	if err == nil && want.writes == 0 {
		did := "created, changed and deleted " + w.resource.kind.Kind + " unbroken"
		err = failed(did, "writes by way of the kubeconfig that the controller gets", "none")
	}
	w.say("created, changed and deleted without a fault: %d writes", want.writes)
	return want, err
}

// with says in a failure which fault there was.
func (w *World) with(f *Fault, err error) error {
	kind := cmp.Or(f.Verb, "write")
	did := fmt.Sprintf("let %s %d about %s be %s", kind, f.Nth, f.Name, f.what())
	if f.Nth == 0 {
		did = fmt.Sprintf("let 30 %% of each %s about %s, 20 at most, be %s", kind, f.Name, f.what())
	}
	if hit := w.tap.hit(f); hit != nil {
		did += fmt.Sprintf(" (%s %s %s)", hit.Verb, hit.Resource, hit.Name)
	}
	return about(f.Name, during(did, err))
}

// crash kills the controller at its first write, its second, and so on, until it needs no more.
func crash(ctx context.Context, w *World) error {
	want, err := w.withoutFaults(ctx)
	if err != nil {
		return err
	}
	w.restarts = true
	// Not done is after the answer of the write before.
	cases := []*Fault{}
	for nth := 1; nth <= want.writes; nth++ {
		for _, done := range []bool{false, true} {
			cases = append(cases, &Fault{Nth: nth, Done: done, Kill: true})
		}
	}
	for i, f := range choose(w, cases) {
		f.Name = fmt.Sprintf("crash%02d", i)
		remove := w.tap.add(f)
		_, err := w.live(ctx, f.Name, want)
		remove()
		if err != nil {
			return w.with(f, err)
		}
		if hit := w.tap.hit(f); hit != nil {
			w.say("write %d of %d, %s %s: %s", f.Nth, want.writes, hit.Verb, hit.Resource, f.what())
		}
	}
	return nil
}

// ambiguity answers each write otherwise than the server. One controller has all cases, each with an object of its own.
func ambiguity(ctx context.Context, w *World) error {
	want, err := w.withoutFaults(ctx)
	if err != nil {
		return err
	}
	w.say("each write is answered 500 while one is deleted, and another one of its name is created")
	if err := w.succeed(ctx, "successor", want); err != nil {
		return about("successor", err)
	}
	cases := []*Fault{}
	for nth := 1; nth <= want.writes; nth++ {
		const closed = 0
		for _, code := range []int{
			http.StatusInternalServerError, http.StatusGatewayTimeout, http.StatusConflict, http.StatusTooManyRequests, closed,
		} {
			cases = append(cases, &Fault{Nth: nth, Code: code}, &Fault{Nth: nth, Code: code, Done: true})
		}
	}
	for _, f := range slices.Clone(cases[:min(len(cases), 10)]) { // and of each kind one that breaks 30 % of all writes
		cases = append(cases, &Fault{Code: f.Code, Done: f.Done, Chance: sometimes(w.random)})
	}
	for nth := range 4 { // and of the reads of one object; 0 breaks 30 % of them
		f := &Fault{Verb: "get", Nth: nth, Code: http.StatusInternalServerError}
		if nth == 0 {
			f.Chance = sometimes(w.random)
		}
		cases = append(cases, f)
	}
	// By chance, the last write could be left out, after which no event brings another try.
	last := &Fault{Nth: want.writes, Code: http.StatusInternalServerError}
	cases = append(choose(w, cases), last)
	w.say("%d cases: 500, 504, 409, 429 or a closed connection, with the write done or not; reads answered 500", len(cases))
	return each(ctx, cases, func(ctx context.Context, i int, f *Fault) error {
		f.Name = fmt.Sprintf("answer%02d", i)
		defer w.tap.add(f)()
		_, err := w.live(ctx, f.Name, want)
		if err != nil {
			return w.with(f, err)
		}
		if (i+1)%10 == 0 {
			w.say("case %d of %d", i+1, len(cases))
		}
		return nil
	})
}

// sometimes is true in 30 % of all calls, but 20 times at most: most syncs with many requests would fail, and each failure is a longer
// wait.
func sometimes(random *rand.Rand) func() bool {
	left := 20
	return func() bool {
		if left == 0 || random.IntN(10) >= 3 {
			return false
		}
		left--
		return true
	}
}

// succeed lets all writes about an object fail from its deletion on, until another one of its name is created. What a controller
// tries again must not reach the children of that one.
func (w *World) succeed(ctx context.Context, name string, want ends) error {
	if _, err := w.createSample(ctx, 0, name); err != nil {
		return err
	}
	if _, _, err := w.untilReady(ctx, name, want.created); err != nil {
		return err
	}
	f := &Fault{Name: name, Code: http.StatusInternalServerError}
	mend := w.tap.add(f)
	defer mend()
	if err := w.delete(ctx, name); err != nil {
		return err
	}
	// Its finalizers would hold it: the controller cannot remove them.
	if err := unlessGone(w.patch(ctx, name, `{"metadata": {"finalizers": null}}`)); err != nil {
		return err
	}
	did := "let each write about " + name + " be answered 500; deleted it, without finalizers"
	if err := w.untilGone(ctx, name); err != nil {
		return during(did, err)
	}
	if err := w.untilCollected(ctx); err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil { // its time to write
		return err
	}
	hasTried, since := w.tap.hit(f) != nil, time.Now()
	if err := w.createAgain(ctx, name); err != nil {
		return err
	}
	// A deletion that is tried again before the next children are there finds nothing, and ends.
	mendDeletes := w.tap.add(&Fault{Name: name, Verb: "delete", Code: http.StatusInternalServerError})
	defer mendDeletes()
	mend()
	did += ", created another one of its name, and let its writes through"
	if _, _, err := w.untilReady(ctx, name, want.created); err != nil {
		return during(did, err)
	}
	mendDeletes()
	if hasTried {
		if err := pause(ctx, 5*time.Second); err != nil { // its time to try again
			return err
		}
	}
	deletes := []Request{}
	for _, r := range w.tap.writes(name, since) {
		if r.Verb == "delete" && r.Code/100 == 2 {
			deletes = append(deletes, r)
		}
	}
	return failed(did+"; looked for deletions of its children, which nobody wants", "", list(deletes))
}
